"""GLUE 2.0 entities as XML: one flat document of entities that name one another (OGF GFD.209)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lxml import etree

from cosched.portal.glue import VALIDITY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.portal.glue import Entity

__all__ = ["NAMESPACE", "written"]

NAMESPACE = "http://schemas.ogf.org/glue/2009/03/spec_2.0_r1"
_PREFIXES: Any = {None: NAMESPACE}  # the stubs of lxml do not know that None is the default


def written(entities: Iterable[Entity], time: float) -> bytes:
    """Return the document, UTF-8.

    Args:
        entities: in the order of the rendering.
        time: when they were like this, seconds since the epoch.
    """
    root = etree.Element(f"{{{NAMESPACE}}}GLUE2", nsmap=_PREFIXES)
    created = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for entity in entities:
        element = etree.SubElement(root, f"{{{NAMESPACE}}}{entity.kind}")
        element.set("CreationTime", created)
        element.set("Validity", str(VALIDITY))
        if entity.base:
            element.set("BaseType", entity.base)
        head = {"ID": entity.id, "Name": entity.name}
        for name, value in (*head.items(), *entity.general.items(), *entity.special.items()):
            if value:
                _add(element, name, value)
        associations = etree.SubElement(element, f"{{{NAMESPACE}}}Associations")
        for name, value in entity.associations:
            _add(associations, name, value)
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def _add(element: Any, name: str, value: str) -> None:
    etree.SubElement(element, f"{{{NAMESPACE}}}{name}").text = value
