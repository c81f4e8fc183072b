"""From JSON documents to their dataclasses."""

from __future__ import annotations

import types
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["decode"]

_T = TypeVar("_T")


def decode(kind: type[_T], document: Any) -> _T:
    """Read a document; keys that this version does not know are left out."""
    decoded: _T = _value(kind, document)
    return decoded


def _value(kind: Any, document: Any) -> Any:
    if document is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _value(hints[name], value) for name, value in document.items() if name in hints})
    if get_origin(kind) is tuple:
        return tuple(_value(get_args(kind)[0], item) for item in document)
    if get_origin(kind) is dict:
        return {name: _value(get_args(kind)[1], item) for name, item in document.items()}
    if get_origin(kind) in (Union, types.UnionType):
        candidates = [each for each in get_args(kind) if is_dataclass(each) or get_origin(each) is tuple]
        return _value(candidates[0], document) if candidates else document
    return document


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
