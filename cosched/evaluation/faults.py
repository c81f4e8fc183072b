"""Errors of an evaluation, each at a place of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from cosched.language.diagnostics import ModelError

if TYPE_CHECKING:
    from cosched.language.source import Source
    from cosched.language.syntax import Position

__all__ = ["CountError", "fail"]


class CountError(ModelError):
    """The model is sound but does not cover this number of hosts."""


def fail(source: Source, at: Position, message: str, error: type[ModelError] = ModelError) -> NoReturn:
    """End the evaluation with a fault at a position."""
    raise error([source.fault(at, message)])
