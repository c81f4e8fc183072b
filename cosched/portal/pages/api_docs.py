"""The pages' description of the API, made of its OpenAPI document: it reads without network, and without a script.

Start at `api_reference`. What fields mean stands in the docstrings of `cosched.api.documents`.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from markupsafe import Markup

from cosched.api import documents
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page

__all__ = ["ApiChapter", "ApiDocument", "ApiField", "ApiOperation", "ApiReference", "api_reference", "router"]

_CHAPTERS = {
    "tasks": ("Tasks", "Submit tasks, look at them, change and cancel them."),
    "domain": ("Domain", "Hosts, plan and past, neighbours, shares and reservations."),
    "events": ("Events", "What happens, as it happens."),
    "library": ("Library", "Applications that can be submitted by name, and models."),
    "access": ("Access", "As whom cosched knows you; tokens, accounts, the audit log."),
    "administration": ("Administration", "Notices for everybody, the configuration, the daemon's health."),
    "": ("Beside /api/v1", "For programs that look whether the daemon lives."),
}
_SIMPLE = {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false", "null": "null"}
_BOUNDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "at most {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {}"),
    ("maxItems", "at most {}"),
)
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ApiField:
    """A parameter of a request, or a key of a document.

    Attributes:
        place: "path", "query" or "header" for a parameter; empty for a key.
        type: in words, documents as links.
        needed: whether it must be given, or is always there.
    """

    name: str
    place: str
    type: Markup
    needed: bool
    default: str
    text: str


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """A method of a path."""

    name: str
    method: str
    path: str
    text: str
    parameters: tuple[ApiField, ...]
    body: tuple[ApiField, ...]
    body_text: str
    answer: Markup
    status: str
    changes: bool


@dataclass(frozen=True, slots=True)
class ApiChapter:
    """The operations of one subject."""

    name: str
    title: str
    text: str
    operations: tuple[ApiOperation, ...]


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """A JSON object that the API gives."""

    name: str
    text: str
    fields: tuple[ApiField, ...]


@dataclass(frozen=True, slots=True)
class ApiReference:
    """All that the API takes and gives."""

    chapters: tuple[ApiChapter, ...]
    documents: tuple[ApiDocument, ...]


def api_reference(description: Mapping[str, Any]) -> ApiReference:
    """Make the reference of an OpenAPI document."""
    found: dict[str, list[ApiOperation]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            found.setdefault(next(iter(operation.get("tags", ())), ""), []).append(_operation(method, path, operation))
    known = [*_CHAPTERS, *(name for name in found if name not in _CHAPTERS)]
    chapters = (
        ApiChapter(name, *_CHAPTERS.get(name, (name.capitalize(), "")), tuple(found[name]))
        for name in known
        if name in found
    )
    schemas = description.get("components", {}).get("schemas", {})
    return ApiReference(tuple(chapters), tuple(_document(name, schemas[name]) for name in sorted(schemas)))


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> ApiOperation:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "anyOf" in body or "oneOf" in body:  # one document, or a list of them
        body = next((each for each in body.get("anyOf", body.get("oneOf")) if each.get("properties")), body)
    text, meanings = _parted(body.get("description", ""))
    answers: dict[str, Any] = operation["responses"]
    status = next((code for code in answers if code.startswith("2")), "")
    content: Mapping[str, Any] = answers[status].get("content", {}) if status else {}
    kind = next(iter(content), "")
    schema: Mapping[str, Any] = content[kind].get("schema", {}) if kind else {}
    return ApiOperation(
        name=f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}",
        method=method.upper(),
        path=path,
        text=operation.get("description", ""),
        parameters=tuple(map(_parameter, operation.get("parameters", ()))),
        body=tuple(_fields(body, meanings)),
        body_text=text,
        answer=_type(schema) if schema else Markup("{}").format(kind),
        status=status,
        changes=method != "get",
    )


def _parameter(given: Mapping[str, Any]) -> ApiField:
    schema = given["schema"]
    default = "" if schema.get("default") in (None, "") else str(schema["default"])
    text = given.get("description", "")
    return ApiField(given["name"], given["in"], _type(schema), bool(given.get("required")), default, text)


def _document(name: str, schema: Mapping[str, Any]) -> ApiDocument:
    kind = getattr(documents, name, None)
    text, meanings = _parted(inspect.getdoc(kind) or "" if kind is not None else schema.get("description", ""))
    if "enum" in schema:
        values = ", ".join(f'"{value}"' for value in schema["enum"])
        return ApiDocument(name, f"{text} One of {values}.".strip(), ())
    return ApiDocument(name, text, tuple(_fields(schema, meanings)))


def _fields(schema: Mapping[str, Any], meanings: Mapping[str, str]) -> Iterator[ApiField]:
    needed = schema.get("required", ())
    for name, kind in schema.get("properties", {}).items():
        default = kind.get("default")
        shown = (
            "" if default in (None, "", [], {}) else str(default).lower() if isinstance(default, bool) else str(default)
        )
        yield ApiField(name, "", _type(kind), name in needed, shown, meanings.get(name, kind.get("description", "")))


def _parted(docstring: str) -> tuple[str, dict[str, str]]:
    """Return what a docstring says of a document, and of each of its attributes."""
    text, _, attributes = docstring.partition("Attributes:\n")
    return text.strip(), {name: " ".join(said.split()) for name, said in _ATTRIBUTE.findall(attributes)}


def _type(schema: Mapping[str, Any]) -> Markup:
    """Return a type in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#{}">{}</a>').format(name, name)
    for joint in ("anyOf", "oneOf", "allOf"):
        if joint in schema:
            return Markup(" or ").join(dict.fromkeys(map(_type, schema[joint])))
    if "enum" in schema or "const" in schema:
        values: Sequence[Any] = schema.get("enum", [schema.get("const")])
        return Markup(" or ").join(Markup("<code>{!r}</code>").format(value) for value in values)
    match schema.get("type"):
        case "array":
            return Markup("list of {}").format(_type(schema.get("items", {})))
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return Markup("object of {}").format(_type(schema["additionalProperties"]))
        case "object":
            return Markup("object")
        case kind:
            words = [words.format(schema[bound]) for bound, words in _BOUNDS if bound in schema]
            return Markup(", ").join([_SIMPLE.get(str(kind), "anything"), *words])


router = page_router()


@router.get("/docs")
def docs(request: Request) -> Response:
    return render_page(request, "api_docs.html", reference=api_reference(request.app.openapi()))
