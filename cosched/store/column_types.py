"""Column types convert values of records exactly both ways.

A record's field and its column in `cosched.store.tables` have one name; the column's type does the rest.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, String, Text, TypeDecorator

from cosched.agents.protocol.letter_xml import read_task_document, write_task_document
from cosched.connector.values import NativeDescription
from cosched.coscheduler.elastic.values import Elastic, LeadStatus, RestartRecord
from cosched.coscheduler.places.alternatives import Alternative
from cosched.coscheduler.recording.codec import Codec
from cosched.coscheduler.stages.stage import StageInChain
from cosched.prediction.loads.host_load import Coupling
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from enum import StrEnum

    from sqlalchemy.types import TypeEngine

__all__ = [
    "ALTERNATIVES",
    "ELASTIC",
    "LEAD_STATUS",
    "NATIVE",
    "PROFILE",
    "RESTARTS",
    "STAGE",
    "STRINGS",
    "STRING_MAP",
    "TASK_DOCUMENT",
    "state_type",
]


class _Converted(TypeDecorator[Any]):
    """A column type that converts values for the database and back; null stays null."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok = True

    def __init__(self, stored: TypeEngine[Any], write: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
        super().__init__()
        self.impl = self.stored = stored
        self.write = write
        self.read = read

    def process_bind_param(self, value: Any, _dialect: object) -> Any:
        """Return what the database keeps."""
        return None if value is None else self.write(value)

    def process_result_value(self, value: Any, _dialect: object) -> Any:
        """Return the record's value."""
        return None if value is None else self.read(value)


def state_type(kind: type[StrEnum]) -> TypeEngine[Any]:
    """Return the type of a column with the states of one kind of record."""
    return _Converted(String(16), str, kind)


def _profile_document(profile: Profile) -> dict[str, Any]:
    document: dict[str, Any] = {
        "seconds": _finite_or_null(profile.seconds),
        "source": str(profile.source),
        "hardware": profile.hardware,
    }
    if profile.low is not None and profile.high is not None:
        document |= {"low": _finite_or_null(profile.low), "high": _finite_or_null(profile.high)}
    if profile.runs:
        document["runs"] = profile.runs
    if profile.stated:
        document["stated"] = _finite_or_null(profile.stated)
    if profile.explores:
        document["explores"] = True
    if profile.changed:
        document["changed"] = profile.changed
    if profile.coupling is not Coupling.COUPLED:
        document["coupling"] = str(profile.coupling)
    if profile.classes:
        document["classes"] = [_profile_document(each) for each in profile.classes]
    return document


def _profile(document: Mapping[str, Any]) -> Profile:
    seconds = _finite_or_infinite(document["seconds"])
    low, high = (_finite_or_infinite(document[end]) if end in document else None for end in ("low", "high"))
    classes = tuple(_profile(each) for each in document.get("classes", ()))
    source, runs = PredictionSource(document["source"]), document.get("runs", 0)
    stated = _finite_or_infinite(document.get("stated", ()))
    explores, changed = document.get("explores", False), document.get("changed", 0)
    coupling = Coupling(document.get("coupling", Coupling.COUPLED))
    return Profile(seconds, source, document["hardware"], low, high, classes, runs, stated, explores, changed, coupling)


def _alternative_document(alternative: Alternative) -> dict[str, Any]:
    rest = {each.name: getattr(alternative, each.name) for each in fields(Alternative) if each.name != "profile"}
    return {"profile": _profile_document(alternative.profile), **rest}


def _alternatives(documents: Sequence[Mapping[str, Any]]) -> tuple[Alternative, ...]:
    return tuple([Alternative(**{**each, "profile": _profile(each["profile"])}) for each in documents])


def _finite_or_null(times: Sequence[float]) -> list[float | None]:
    # JSON has no infinity: a host count that cannot be used is null.
    return [value if math.isfinite(value) else None for value in times]


def _finite_or_infinite(times: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.inf if value is None else value for value in times)


def _native(document: Mapping[str, Any]) -> NativeDescription:
    return NativeDescription(**document)


def _elastic(document: Mapping[str, Any]) -> Elastic:
    return Elastic(**{**document, "worker": tuple(document["worker"])})


def _restart_record(document: Mapping[str, Any]) -> RestartRecord:
    return RestartRecord(**document)


def _lead_status(document: Mapping[str, Any]) -> LeadStatus:
    return LeadStatus(**{**document, "promised": tuple(document["promised"])})


STRINGS = _Converted(JSON(), list, tuple)
STRING_MAP = _Converted(JSON(), dict, dict)
PROFILE = _Converted(JSON(none_as_null=True), _profile_document, _profile)
ALTERNATIVES = _Converted(JSON(), lambda value: list(map(_alternative_document, value)), _alternatives)
ELASTIC = _Converted(JSON(none_as_null=True), asdict, _elastic)
RESTARTS = _Converted(JSON(none_as_null=True), asdict, _restart_record)
LEAD_STATUS = _Converted(JSON(none_as_null=True), asdict, _lead_status)
_CODEC = Codec()
STAGE = _Converted(
    JSON(none_as_null=True),
    lambda stage: _CODEC.write(stage, StageInChain),
    lambda document: _CODEC.read(document, StageInChain),
)
NATIVE = _Converted(JSON(none_as_null=True), asdict, _native)
TASK_DOCUMENT = _Converted(Text(), write_task_document, read_task_document)
