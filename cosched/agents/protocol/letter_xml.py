"""Letters and task documents as XML and back, valid by agent.xsd.

An attribute for each plain field, an element for each dataclass or member of a tuple. What comes in is bounded,
must have no DOCTYPE, is validated, and only then read. Neighbours refuse what their schema does not have: fields that
only tell more (metadata `SINCE`) are left out for those that have an earlier edition of it.
"""

from __future__ import annotations

import dataclasses
import math
import re
import threading
import types
import typing
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from lxml import etree

from cosched.agents.protocol.advertisement import SINCE
from cosched.agents.protocol.letters import Body, Letter
from cosched.coscheduler.handovers import TaskDocument
from cosched.errors import UserError

__all__ = [
    "EDITION_HEADER",
    "MAX_DOCUMENT_BYTES",
    "NAMESPACE",
    "SCHEMA_EDITION",
    "read_letter",
    "read_task_document",
    "schema_text",
    "write_letter",
    "write_task_document",
]

NAMESPACE = "urn:cosched:agent:1"
MAX_DOCUMENT_BYTES = 4 << 20
"""Bytes that a document may have."""
SCHEMA_EDITION = 2
"""Edition of agent.xsd; a later one reads all that earlier ones do."""
EDITION_HEADER = "Cosched-Schema"
"""Header of HTTP in which an agent answers letters with the edition by which it has read them."""

_FOR_PEOPLE = "reason"  # field with words of managers, users and other domains, which nobody has bounded
_LONGEST_WORDS = 4096  # characters; see type text of agent.xsd
_BODIES = {kind.__name__.lower(): kind for kind in typing.get_args(Body)}
_PREFIXES: Any = {None: NAMESPACE}  # the stubs of lxml do not know that None is the default
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What a document could open with besides its root: of these only comments are harmless, and nobody needs them.
_DOCTYPE = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
# Each neighbour's letters are read on threads of their own. libxml2 makes the types of all schemas as it reads the
# first one: two threads at once spoil them for good. What a schema finds wrong is forgotten as it is used again.
_VALIDATING = threading.Lock()


def write_letter(letter: Letter, edition: int = SCHEMA_EDITION) -> bytes:
    """Return a letter as XML.

    Args:
        letter: to be written.
        edition: of the receiver's schema.

    Raises:
        UserError: something in it has no form in XML (control characters), or it is too large.
    """
    return _serialised(_element("letter", letter, edition))


def read_letter(data: bytes) -> Letter:
    """Return the letter that XML holds.

    Raises:
        UserError: it is too large, no XML, has a DOCTYPE, or is not valid by the schema; says where.
    """
    return typing.cast("Letter", _read(data, "letter", Letter))


def write_task_document(document: TaskDocument) -> str:
    """Return a task's document as XML, for keeping; errors as `write_letter`."""
    return _serialised(_element("document", document)).decode()


def read_task_document(text: str) -> TaskDocument:
    """Return the task's document that XML holds; errors as `read_letter`."""
    return typing.cast("TaskDocument", _read(text.encode(), "document", TaskDocument))


def schema_text() -> bytes:
    """Return the published schema."""
    return resources.files("cosched.agents.protocol").joinpath("agent.xsd").read_bytes()


def _serialised(element: Any) -> bytes:
    data = etree.tostring(element, encoding="UTF-8", xml_declaration=True)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise UserError(
            f"the document has {len(data)} bytes, and peers take {MAX_DOCUMENT_BYTES}: it cannot be forwarded"
        )
    return bytes(data)


def _element(name: str, value: Any, edition: int = SCHEMA_EDITION) -> Any:
    element = etree.Element(f"{{{NAMESPACE}}}{name}", nsmap=_PREFIXES)
    try:
        _fill(element, value, edition)
    except ValueError as error:
        raise UserError(f"a {name} cannot be written as XML: {error}") from error
    return element


@cache
def _names(kind: type, edition: int) -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(kind) if item.metadata.get(SINCE, 1) <= edition)


def _fill(element: Any, value: Any, edition: int) -> None:
    kind: type = type(value)
    for name in _names(kind, edition):
        content = getattr(value, name)
        if content is None:
            continue
        if name == _FOR_PEOPLE:
            content = _words(content)
        if isinstance(content, tuple):
            for member in content:
                _add(element, name, member, edition)
        elif dataclasses.is_dataclass(content):
            _add(element, type(content).__name__.lower() if name == "body" else name, content, edition)
        else:
            element.set(name, _text(content))


def _add(element: Any, name: str, value: Any, edition: int) -> None:
    child = etree.SubElement(element, f"{{{NAMESPACE}}}{name}")
    if dataclasses.is_dataclass(value):
        _fill(child, value, edition)
    else:
        child.text = _text(value)


def _words(text: str) -> str:
    """Return words as every receiver takes them: no letter must be lost for the reason that it gives."""
    shown = _NOT_IN_XML.sub("?", text)
    return shown if len(shown) <= _LONGEST_WORDS else f"{shown[: _LONGEST_WORDS - 1]}…"


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isnan(value):
            raise ValueError("a number is not a number")
        case float() if math.isinf(value):
            return "INF" if value > 0 else "-INF"
        case float():
            return repr(value)
        case _:
            return str(value)


def _read(data: bytes, name: str, kind: type) -> Any:
    if len(data) > MAX_DOCUMENT_BYTES:
        raise UserError(f"the document has {len(data)} bytes: at most {MAX_DOCUMENT_BYTES} are read")
    if _DOCTYPE.search(data) or b"\0" in data:
        raise UserError("the document has a DOCTYPE, or is not UTF-8: send plain XML in UTF-8")
    try:
        root = etree.fromstring(data, _parser())
    except etree.XMLSyntaxError as error:
        raise UserError(f"the document is not well-formed XML: {error.msg}") from error
    if root.tag != f"{{{NAMESPACE}}}{name}":
        raise UserError(f"the document is {str(root.tag)[:80]!r}: {name} in {NAMESPACE} is expected")
    with _VALIDATING:
        schema = _schema()
        fault = None if schema.validate(root) else schema.error_log[0]
    if fault is not None:
        raise UserError(f"the document is not valid, line {fault.line}: {fault.message[:300]}")
    try:
        return _value(root, kind)
    except (ValueError, TypeError) as error:
        raise UserError(f"the document contradicts itself: {error}") from error


def _parser() -> Any:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        encoding="UTF-8",
        remove_comments=True,
        remove_pis=True,
    )


@cache
def _schema() -> Any:
    return etree.XMLSchema(etree.fromstring(schema_text()))


class _FieldReader(NamedTuple):
    """Reads one field: a tuple's members, a dataclass or a plain value of `kind`."""

    name: str
    tag: str
    kind: Any
    many: bool
    nested: bool


@cache
def _readers(kind: type) -> tuple[_FieldReader, ...]:
    hints = typing.get_type_hints(kind)
    return tuple(_reader(item.name, hints[item.name]) for item in dataclasses.fields(kind))


def _reader(name: str, hint: Any) -> _FieldReader:
    many = typing.get_origin(hint) is tuple
    kind = typing.get_args(hint)[0] if many else _plain(hint)
    return _FieldReader(name, f"{{{NAMESPACE}}}{name}", kind, many, dataclasses.is_dataclass(kind))


def _value(element: Any, kind: type) -> Any:
    values: dict[str, Any] = {}
    for name, tag, of, many, nested in _readers(kind):
        if name == "body":
            child = element[0]
            values[name] = _value(child, _BODIES[etree.QName(child).localname])
        elif many:
            read = _value if nested else _text_value
            values[name] = tuple([read(child, of) for child in element.iterchildren(tag)])
        elif nested:
            child = next(element.iterchildren(tag), None)
            if child is not None:
                values[name] = _value(child, of)
        elif (text := element.get(name)) is not None:
            values[name] = _scalar(text, of)
    return kind(**values)


def _text_value(element: Any, kind: Any) -> Any:
    return _scalar(element.text or "", kind)


def _plain(hint: Any) -> Any:
    """Return X of `X | None`."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(kind for kind in typing.get_args(hint) if kind is not type(None))
    return hint


def _scalar(text: str, kind: Any) -> Any:
    if kind is bool:
        return text in ("true", "1")
    if kind is float:
        return float(text)
    if kind is int:
        return int(text)
    return kind(text) if isinstance(kind, type) and issubclass(kind, StrEnum) else text
