"""Fields that two kinds of record share."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


__all__ = ["shared_values"]


def shared_values(record: DataclassInstance, kind: type[DataclassInstance]) -> dict[str, Any]:
    """Return the values of the fields that two kinds of record share, by name."""
    return {name: getattr(record, name) for name in _shared_names(type(record), kind)}


@cache
def _shared_names(kind: type[DataclassInstance], other: type[DataclassInstance]) -> tuple[str, ...]:
    names = {item.name for item in fields(other)}
    return tuple(item.name for item in fields(kind) if item.name in names)
