"""A command finds its daemon by --server, $COSCHED_SERVER or the configuration.

The configuration says where the daemon listens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cosched.client import Client

__all__ = ["ServerOption", "connect"]

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

    return Client(server)
