"""The codec turns frozen dataclasses into JSON and back, by their type hints alone.

A new field or a new event needs nothing here. Start at `Codec`.
"""

from __future__ import annotations

import collections.abc
import math
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from cosched.connector import hosts, interface, jobs, values
from cosched.coscheduler import (
    changes,
    core_settings,
    edits,
    events,
    handovers,
    reservations,
    task,
)
from cosched.coscheduler.attempts import attempt
from cosched.coscheduler.dispatching import submit_limits
from cosched.coscheduler.elastic import values as elastic_values
from cosched.coscheduler.places import alternatives, occupancy
from cosched.coscheduler.planning import task_plan
from cosched.coscheduler.recording import snapshot
from cosched.coscheduler.recording.earlier_forms import EARLIER_FORMS
from cosched.coscheduler.sharing import fair_shares, shares
from cosched.coscheduler.stages import stage
from cosched.prediction import calibration, contention, efficiency, profile
from cosched.prediction.loads import host_load
from cosched.scheduling.objective import weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Codec", "Omitted", "RecordError", "type_hints"]

# The modules whose classes are recorded. Their type hints are resolved among all their names: under TYPE_CHECKING a
# module has not imported what it names.
_MODULES = (
    hosts,
    interface,
    jobs,
    values,
    calibration,
    contention,
    efficiency,
    host_load,
    profile,
    weights,
    handovers,
    reservations,
    submit_limits,
    alternatives,
    occupancy,
    elastic_values,
    stage,
    attempt,
    task,
    task_plan,
    core_settings,
    edits,
    events,
    changes,
    shares,
    fair_shares,
    snapshot,
)
_INFINITE = {math.inf: "inf", -math.inf: "-inf"}  # JSON has no such numbers


class RecordError(ValueError):
    """A document is not what the type says."""


class Omitted:
    """A rule for a field that is left out; when read it has its default."""


@cache
def type_hints(kind: type) -> dict[str, Any]:
    """Return the types of a recorded class's fields."""
    names = {name: each for module in _MODULES for name, each in vars(module).items()}
    names |= {"Mapping": collections.abc.Mapping, "Sequence": collections.abc.Sequence}
    return get_type_hints(kind, localns=names)


class Codec:
    """Writes values of recorded types as JSON documents, and reads them.

    A member of a union of dataclasses carries its class as "type"; a field that has its default is left out; infinite
    numbers are the texts "inf", "-inf" and "nan", in a union with text {"float": "inf"}.
    """

    def __init__(self, rules: Mapping[tuple[str, str], Any] | None = None, *, defaults: bool = False) -> None:
        """Set up.

        Args:
            rules: (class, field) → a function of the value that gives what to write in its place, or `Omitted`.
            defaults: write also what has its default, which another version may have changed.
        """
        self._rules = rules or {}
        self._defaults = defaults
        self._writers: dict[Any, Callable[[Any], Any]] = {}
        self._readers: dict[Any, Callable[[Any], Any]] = {}

    def write(self, value: Any, kind: Any) -> Any:
        """Return a value of a type as a JSON document without infinite numbers."""
        return self._writer(kind)(value)

    def read(self, document: Any, kind: Any) -> Any:
        """Return the value of a document.

        Raises:
            RecordError: it is no such value.
        """
        try:
            return self._reader(kind)(document)
        except RecordError:
            raise
        except Exception as error:  # a value that its class refuses
            raise RecordError(f"{_name(kind)}: {error}") from error

    def _writer(self, kind: Any) -> Callable[[Any], Any]:
        if kind not in self._writers:
            self._writers[kind] = lambda value: self._writers[kind](value)  # for types that contain themselves
            self._writers[kind] = self._new_writer(kind)
        return self._writers[kind]

    def _reader(self, kind: Any) -> Callable[[Any], Any]:
        if kind not in self._readers:
            self._readers[kind] = lambda document: self._readers[kind](document)
            self._readers[kind] = self._new_reader(kind)
        return self._readers[kind]

    def _new_writer(self, kind: Any) -> Callable[[Any], Any]:
        origin, parameters = _parts(kind)
        if origin is UnionType:
            return self._union_writer(parameters)
        if origin is tuple and parameters[-1] is not Ellipsis:
            each = [self._writer(part) for part in parameters]
            return lambda value: [write(item) for write, item in zip(each, value, strict=True)]
        if origin in (tuple, collections.abc.Sequence):
            return _floats_written if parameters[0] is float else self._items_writer(parameters[0])
        if origin in (dict, collections.abc.Mapping):
            write = self._writer(parameters[1])
            return lambda value: {key: write(item) for key, item in value.items()}
        if is_dataclass(kind):
            return self._fields_writer(kind)
        return _SCALAR_WRITERS.get(kind, _same)

    def _items_writer(self, kind: Any) -> Callable[[Any], Any]:
        write = self._writer(kind)
        return list if write is _same else lambda value: [write(item) for item in value]

    def _fields_writer(self, kind: Any) -> Callable[[Any], Any]:
        hints = type_hints(kind)
        parts = []
        for each in fields(kind):
            rule = self._rules.get((kind.__name__, each.name))
            if rule is not Omitted:
                default = MISSING if self._defaults else _default(each)
                parts.append((each.name, default, rule, self._writer(hints[each.name])))

        def write(value: Any) -> dict[str, Any]:
            document = {}
            for name, default, rule, written in parts:
                item = getattr(value, name)
                if rule is not None:
                    item = rule(item)
                if item is not default and (item != default or type(item) is float):
                    document[name] = written(item)
            return document

        return write

    def _union_writer(self, kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
        kinds, optional = _without_none(kinds)
        if len(kinds) == 1:
            only = self._writer(kinds[0])
            return (lambda value: None if value is None else only(value)) if optional else only
        if all(map(is_dataclass, kinds)):
            known = {kind: self._writer(kind) for kind in kinds}
            return lambda value: None if value is None else {"type": type(value).__name__, **known[type(value)](value)}
        return _number_or_text

    def _new_reader(self, kind: Any) -> Callable[[Any], Any]:
        origin, parameters = _parts(kind)
        if origin is UnionType:
            return self._union_reader(parameters)
        if origin is tuple and parameters[-1] is not Ellipsis:
            each = [self._reader(part) for part in parameters]
            return lambda value: tuple(
                read(item) for read, item in zip(each, _checked(value, list, "a list"), strict=True)
            )
        if origin in (tuple, collections.abc.Sequence):
            read = self._reader(parameters[0])
            return lambda value: tuple([read(item) for item in _checked(value, list, "a list")])
        if origin in (dict, collections.abc.Mapping):
            item_reader = self._reader(parameters[1])
            return lambda value: {key: item_reader(item) for key, item in _checked(value, dict, "an object").items()}
        if is_dataclass(kind):
            return self._fields_reader(kind)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind
        if kind not in _SCALAR_READERS:
            raise TypeError(f"{kind!r} cannot be recorded")
        return _SCALAR_READERS[kind]

    def _fields_reader(self, kind: Any) -> Callable[[Any], Any]:
        hints = type_hints(kind)
        readers = {each.name: self._reader(hints[each.name]) for each in fields(kind)}
        updated: Callable[[Any], Any] = EARLIER_FORMS.get(kind, _same)

        def read(document: Any) -> Any:
            values = {}
            for name, item in updated(_checked(document, dict, f"an object ({kind.__name__})")).items():
                if name not in readers:
                    raise RecordError(f"{kind.__name__} has no {name!r}")
                values[name] = readers[name](item)
            return kind(**values)

        return read

    def _union_reader(self, kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
        kinds, optional = _without_none(kinds)
        if len(kinds) == 1:
            only = self._reader(kinds[0])
            return (lambda value: None if value is None else only(value)) if optional else only
        if all(map(is_dataclass, kinds)):
            known = {kind.__name__: self._reader(kind) for kind in kinds}

            def read(document: Any) -> Any:
                if document is None and optional:
                    return None
                rest = dict(_checked(document, dict, "an object"))
                name = rest.pop("type", None)
                if name not in known:
                    raise RecordError(f"{name!r} is none of {', '.join(known)}")
                return known[name](rest)

            return read
        return _read_number_or_text


def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    origin = get_origin(kind)
    return UnionType if origin is Union else origin, get_args(kind)


def _without_none(kinds: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
    kept = tuple(kind for kind in kinds if kind is not NoneType)
    return kept, len(kept) < len(kinds)


def _default(each: Any) -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default  # MISSING where there is none: no value equals it


def _same(value: Any) -> Any:
    return value


def _float_written(value: float) -> float | str:
    return float(value) if math.isfinite(value) else _INFINITE.get(value, "nan")


def _floats_written(values: tuple[float, ...]) -> list[float | str]:
    if math.isfinite(sum(values)):  # then each of them is
        return list(map(float, values))
    return list(map(_float_written, values))


def _number_or_text(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": _float_written(value)}
    return value


def _read_number_or_text(document: Any) -> Any:
    if isinstance(document, dict):
        return _read_float(document.get("float"))
    if not isinstance(document, str | int | float):
        raise RecordError(f"{document!r} is neither a number nor a text")
    return document


def _read_float(document: Any) -> float:
    if type(document) is float or type(document) is int or document in ("inf", "-inf", "nan"):
        return float(document)
    raise RecordError(f"{document!r} is no number")


def _checked(document: Any, kind: type, what: str) -> Any:
    if type(document) is not kind:
        raise RecordError(f"{document!r:.80} is not {what}")
    return document


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", "record")


_SCALAR_WRITERS: dict[Any, Callable[[Any], Any]] = {float: _float_written}
_SCALAR_READERS: dict[Any, Callable[[Any], Any]] = {
    float: _read_float,
    int: lambda document: _checked(document, int, "a whole number"),
    bool: lambda document: _checked(document, bool, "true or false"),
    str: lambda document: _checked(document, str, "a text"),
}
