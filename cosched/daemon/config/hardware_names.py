"""Names of hardware in the configuration that the library does not have: no fault, as models may come later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language import library
from cosched.language.diagnostics import suggestion
from cosched.prediction.contention import DEFAULT_CLASS

if TYPE_CHECKING:
    from cosched.daemon.config.sections import Configuration

__all__ = ["unknown_hardware"]


def unknown_hardware(configuration: Configuration) -> list[str]:
    """Return a line for each hardware and class of hosts that the library lacks.

    Looked at are `[domain] hardware`, the classes of a connector's own table `hosts`, and those of `[planning]
    contention`, which may also be in that table.
    """
    folders = configuration.models.folders
    hosts = configuration.connector.table.get("hosts")
    classes = list(hosts) if isinstance(hosts, dict) else []
    named = [("domain.hardware", configuration.domain.hardware)]
    named += [(f"connector.{configuration.connector.kind}.hosts", name) for name in classes]
    lines = [
        f"{key}: models foretell nothing on {name!r} until [models] folders have {name}.hmcl"
        f"{_near(name, configuration)}"
        for key, name in named
        if library.find(name, ".hmcl", folders) is None
    ]
    lines += [
        f"planning.contention: {name!r} is no hardware of the library, and counts only where the resource manager "
        f"names a class of hosts so{_near(name, configuration)}"
        for name in configuration.planning.contention
        if name not in (DEFAULT_CLASS, *classes) and library.find(name, ".hmcl", folders) is None
    ]
    return lines


def _near(name: str, configuration: Configuration) -> str:
    return suggestion(name, library.names(".hmcl", configuration.models.folders))
