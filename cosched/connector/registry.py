"""Finds installed connectors: packages with an entry point in the group `cosched.connectors` (see pyproject.toml)."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import TYPE_CHECKING

from cosched.connector.interface import Connector
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GROUP", "available_connectors", "connector_points", "load_connector"]

GROUP = "cosched.connectors"


@cache
def connector_points() -> EntryPoints:
    """Return the entry points of all installed connectors.

    They are looked for once in a process: Python reads what every installed package says of itself for each answer,
    and a daemon asked three times as it started.
    """
    return entry_points(group=GROUP)


def available_connectors() -> list[str]:
    """Return the names of all installed connectors, sorted."""
    return sorted(connector_points().names)


def load_connector(name: str, settings: Mapping[str, object]) -> Connector:
    """Build the connector of this name from its table of the configuration.

    Raises:
        UserError: no such connector, its package is not installed, or a setting is wrong.
    """
    points = [point for point in connector_points() if point.name == name]
    if not points:
        raise UserError(f"connector {name!r} is not installed: choose one of {', '.join(available_connectors())}")
    try:
        factory = points[0].load()
    except ImportError as error:
        raise UserError(
            f"connector {name!r} needs a package that is not installed ({error}): pip install 'cosched[{name}]'"
        ) from error
    connector = factory(settings)
    if not isinstance(connector, Connector):
        raise UserError(f"connector {name!r} is none: its class must inherit from cosched.connector.Connector")
    return connector
