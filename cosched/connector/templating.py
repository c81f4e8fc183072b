"""Renders templates of submit descriptions and scripts, which print checked values only."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cosched.connector.values import SafeValue
from cosched.resources import templates

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["render"]


def render(folder: str, name: str, values: Mapping[str, object]) -> str:
    """Return a template filled in.

    Args:
        folder: folder of the templates, below `templates/`.
        name: the template's file.
        values: `SafeValue`s and numbers to print, and lists of them.

    Raises:
        TypeError: it prints a value that was not checked.
    """
    return _environment(folder).get_template(name).render(values)


@cache
def _environment(folder: str) -> Environment:
    """Return the templates of a folder, each compiled again only when its file changes."""
    return Environment(
        loader=FileSystemLoader(templates() / folder),
        undefined=StrictUndefined,
        finalize=_checked,
        autoescape=False,  # noqa: S701  not HTML; `_checked` lets only safe values through
        keep_trailing_newline=True,
    )


def _checked(value: object) -> object:
    if not isinstance(value, SafeValue | int):
        raise TypeError(f"a template prints {value!r}, which was not checked")
    return value
