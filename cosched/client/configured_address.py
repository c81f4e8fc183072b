"""The address of the daemon that the configuration describes, for clients of the same machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.paths import ENVIRONMENT_PREFIX, configuration_file, default_socket

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["configured_address"]


def configured_address(environment: Mapping[str, str]) -> str:
    """Return where the configuration says that the daemon listens, as a client's address.

    Args:
        environment: names the configuration, and may have keys of its own.

    Raises:
        UserError: the configuration is wrong.
    """
    configured = any(name.startswith(ENVIRONMENT_PREFIX) and "__" in name for name in environment)
    if not configured and configuration_file(environment) is None:
        return default_socket(environment)  # the same answer without loading what reads configurations
    from cosched.daemon.config.loading import load_configuration

    server = load_configuration(environment=environment).server
    unix = next((text for text in server.listen if text.startswith("unix:")), None)
    return unix or f"{'http' if server.certificate is None else 'https'}://{server.listen[0]}"
