"""A command finds its daemon by --server, $COSCHED_SERVER or the configuration.

The configuration says where the daemon listens.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cosched.paths import ENVIRONMENT_PREFIX, configuration_file, default_socket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.client import Client

__all__ = ["ServerOption", "address", "connect"]

ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        envvar="COSCHED_SERVER",
        show_default=False,
        help="Where the daemon is: unix:/path or http://host:port. Else where the configuration says.",
    ),
]


def connect(server: str) -> Client:
    """Return a client for the daemon.

    Raises:
        UserError: the address or the configuration is wrong.
    """
    from cosched.client import Client

    return Client(server or address(os.environ))


def address(environment: Mapping[str, str]) -> str:
    """Return where the configuration says that the daemon listens, as a client's address."""
    configured = any(name.startswith(ENVIRONMENT_PREFIX) and "__" in name for name in environment)
    if not configured and configuration_file(environment) is None:
        return default_socket(environment)  # the same answer without loading what reads configurations
    from cosched.daemon.config.loading import load_configuration

    server = load_configuration(environment=environment).server
    unix = next((text for text in server.listen if text.startswith("unix:")), None)
    return unix or f"{'http' if server.certificate is None else 'https'}://{server.listen[0]}"
