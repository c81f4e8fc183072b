"""GLUE 2.0 entities are written as XML (OGF GFD.209) and as LDIF (RFC 2849)."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

from lxml import etree

from cosched.api.times import utc_text
from cosched.portal.information.glue import VALIDITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cosched.portal.information.glue import GlueEntity

__all__ = ["GLUE_NAMESPACE", "glue_ldif", "glue_xml"]


GLUE_NAMESPACE = "http://schemas.ogf.org/glue/2009/03/spec_2.0_r1"
_PREFIXES: Any = {None: GLUE_NAMESPACE}  # the stubs of lxml do not know that None is the default


def glue_xml(entities: Iterable[GlueEntity], time: float) -> bytes:
    """Return the document, UTF-8.

    Args:
        entities: in the order of the rendering.
        time: when they were like this, seconds since the epoch.
    """
    root = etree.Element(f"{{{GLUE_NAMESPACE}}}GLUE2", nsmap=_PREFIXES)
    created = utc_text(time)
    for entity in entities:
        element = etree.SubElement(root, f"{{{GLUE_NAMESPACE}}}{entity.kind}")
        element.set("CreationTime", created)
        element.set("Validity", str(VALIDITY))
        if entity.base:
            element.set("BaseType", entity.base)
        head = {"ID": entity.id, "Name": entity.name}
        for name, value in (*head.items(), *entity.general.items(), *entity.special.items()):
            if value:
                _add(element, name, value)
        associations = etree.SubElement(element, f"{{{GLUE_NAMESPACE}}}Associations")
        for name, value in entity.associations:
            _add(associations, name, value)
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def _add(element: Any, name: str, value: str) -> None:
    etree.SubElement(element, f"{{{GLUE_NAMESPACE}}}{name}").text = value


_TOP = (
    ("o=glue", (("objectClass", "organization"), ("o", "glue"))),
    ("GLUE2GroupID=resource,o=glue", (("objectClass", "GLUE2Group"), ("GLUE2GroupID", "resource"))),
)
_LINE = 76
# Narrower than RFC 2849, which would also let control characters stand.
_PLAIN = re.compile(r"[!-9;=-~](?:[ -~]*[!-~])?")


def glue_ldif(entities: Iterable[GlueEntity], time: float) -> str:
    """Return the tree, ASCII.

    Args:
        entities: each after its parent.
        time: when they were like this, seconds since the epoch.
    """
    created = utc_text(time)
    places = {"": _TOP[-1][0]}
    records: list[tuple[str, tuple[tuple[str, str], ...]]] = [*_TOP]
    for entity in entities:
        key = f"GLUE2{entity.base or entity.kind}ID"
        # An entity's id has no character that a distinguished name would have to escape.
        places[entity.id] = f"{key}={entity.id},{places[entity.parent]}"
        records.append((places[entity.id], ((key, entity.id), *_attributes(entity, created))))
    return "\n".join(_record(place, attributes) for place, attributes in records)


def _attributes(entity: GlueEntity, created: str) -> Iterator[tuple[str, str]]:
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
