"""Secret files are refused where everybody on the machine can read them."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_private", "read_secret"]

_LARGEST = 1 << 16


def check_private(path: Path, what: str) -> None:
    """Refuse a file that everybody on the machine can read.

    Raises:
        UserError: everybody can read it, or it is not there; `what` names its content in the message.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise UserError(
            f"{what} {path} cannot be read ({getattr(error, 'strerror', None) or error}): name another file"
        ) from error
    if stat.S_IMODE(mode) & 0o007:
        raise UserError(f"{what} {path} can be read by everybody on this machine: chmod o= {path}")


def read_secret(path: Path | None, what: str) -> str:
    """Return the first line of a private file; "" for no file.

    Raises:
        UserError: as `check_private`, or there is no text in it.
    """
    if path is None:
        return ""
    check_private(path, what)
    try:
        with path.open(encoding="utf-8") as file:
            secret = file.read(_LARGEST).partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{what} {path} cannot be read ({error}): correct it") from error
    if not secret:
        raise UserError(f"{what} {path} is empty: write the secret into its first line")
    return secret
