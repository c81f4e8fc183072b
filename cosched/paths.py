"""Default paths: configuration, state folder and socket of cosched, and a database's file.

Every command imports this: keep it light.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ENVIRONMENT_PREFIX",
    "SYSTEM_CONFIGURATION",
    "configuration_file",
    "database_file",
    "default_socket",
    "default_state",
]

ENVIRONMENT_PREFIX = "COSCHED_"
"""Environment variables `COSCHED_SECTION__KEY` set a key of the configuration."""

SYSTEM_CONFIGURATION = Path("/etc/cosched/cosched.toml")
"""What all users of the machine share."""


def default_state(environment: Mapping[str, str]) -> Path:
    """Return the folder for the database and the socket: `$XDG_STATE_HOME/cosched`, else `~/.local/state/cosched`."""
    base = environment.get("XDG_STATE_HOME", "")
    # The XDG specification: a relative path is to be ignored.
    folder = Path(base) if base.startswith("/") else _home(environment) / ".local" / "state"
    return folder / "cosched"


def default_socket(environment: Mapping[str, str]) -> str:
    """Return the address of a daemon without configuration."""
    return f"unix:{default_state(environment) / 'cosched.sock'}"


def configuration_file(environment: Mapping[str, str]) -> Path | None:
    """Return the file to read when none is named.

    `$COSCHED_CONFIG`, else the user's `~/.config/cosched/cosched.toml`, else `/etc/cosched/cosched.toml`; None where
    neither exists.
    """
    named = environment.get(f"{ENVIRONMENT_PREFIX}CONFIG")
    if named:
        return Path(named)
    base = environment.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else _home(environment) / ".config"
    return next((path for path in (folder / "cosched" / "cosched.toml", SYSTEM_CONFIGURATION) if path.is_file()), None)


def database_file(url: str) -> Path:
    """Return the file of a database's URL.

    Raises:
        UserError: it is not SQLite's, or names no absolute file. A password in it is not in the message.
    """
    scheme, _, rest = url.partition("://")
    path = rest.partition("?")[0]
    if scheme.partition("+")[0] != "sqlite":
        raise UserError(
            f"[database] url names no SQLite file but {scheme.partition(':')[0]!r}, and cosched keeps its state "
            "in such a file beside the daemon alone: write sqlite:////absolute/path.db"
        )
    if not path.startswith("//"):
        raise UserError(f"[database] url {url!r} names no absolute file: write sqlite:////absolute/path.db")
    return Path(path[1:])


def _home(environment: Mapping[str, str]) -> Path:
    if environment.get("HOME"):
        return Path(environment["HOME"])
    try:
        return Path.home()
    except RuntimeError as error:
        raise UserError("this user has no home folder, where cosched looks for its configuration: set HOME") from error
