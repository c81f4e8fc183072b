"""Finds installed connectors: packages with an entry point in the group `cosched.connectors` (see pyproject.toml)."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.interface import Connector

__all__ = ["GROUP", "available_connectors", "load_connector"]

GROUP = "cosched.connectors"


def available_connectors() -> list[str]:
    """Return the names of all installed connectors, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load_connector(name: str, settings: Mapping[str, object]) -> Connector:
    """Build the connector of this name from its table of the configuration.

    Raises:
        UserError: no such connector, its package is not installed, or a setting is wrong.
    """
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        raise UserError(f"connector {name!r} is not installed: choose one of {', '.join(available_connectors())}")
    try:
        factory = points[0].load()
    except ImportError as error:
        raise UserError(
            f"connector {name!r} needs a package that is not installed ({error}): pip install 'cosched[{name}]'"
        ) from error
    return cast("Connector", factory(settings))
