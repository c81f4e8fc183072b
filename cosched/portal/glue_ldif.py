"""GLUE 2.0 entities as LDIF (RFC 2849), a whole tree below `o=glue` for a directory with etc/ldap/glue2.schema."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cosched.portal.glue import VALIDITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cosched.portal.glue import Entity

__all__ = ["written"]

_TOP = (
    ("o=glue", (("objectClass", "organization"), ("o", "glue"))),
    ("GLUE2GroupID=resource,o=glue", (("objectClass", "GLUE2Group"), ("GLUE2GroupID", "resource"))),
)
_LINE = 76
# Narrower than RFC 2849, which would also let control characters stand.
_PLAIN = re.compile(r"[!-9;=-~](?:[ -~]*[!-~])?")


def written(entities: Iterable[Entity], time: float) -> str:
    """Return the tree, ASCII.

    Args:
        entities: each after its parent.
        time: when they were like this, seconds since the epoch.
    """
    created = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    places = {"": _TOP[-1][0]}
    records: list[tuple[str, tuple[tuple[str, str], ...]]] = [*_TOP]
    for entity in entities:
        key = f"GLUE2{entity.base or entity.kind}ID"
        # An entity's id has no character that a distinguished name would have to escape.
        places[entity.id] = f"{key}={entity.id},{places[entity.parent]}"
        records.append((places[entity.id], ((key, entity.id), *_attributes(entity, created))))
    return "\n".join(_record(place, attributes) for place, attributes in records)


def _attributes(entity: Entity, created: str) -> Iterator[tuple[str, str]]:
    for kind in ("Entity", entity.base, entity.kind):
        if kind:
            yield "objectClass", f"GLUE2{kind}"
    yield "GLUE2EntityCreationTime", created
    yield "GLUE2EntityValidity", str(VALIDITY)
    if entity.name:
        yield "GLUE2EntityName", entity.name
    for kind, attributes in ((entity.base, entity.general), (entity.kind, entity.special)):
        for name, value in attributes.items():
            if value:
                yield f"GLUE2{kind}{name}", value
    for name, value in entity.keys:
        yield f"GLUE2{name}ForeignKey", value


def _record(place: str, attributes: Iterable[tuple[str, str]]) -> str:
    return "".join(_folded(_line(name, value)) for name, value in (("dn", place), *attributes))


def _line(name: str, value: str) -> str:
    if _PLAIN.fullmatch(value):
        return f"{name}: {value}"
    return f"{name}:: {base64.b64encode(value.encode()).decode()}"


def _folded(line: str) -> str:
    rest = [line[place : place + _LINE - 1] for place in range(_LINE, len(line), _LINE - 1)]
    return "\n ".join([line[:_LINE], *rest]) + "\n"
