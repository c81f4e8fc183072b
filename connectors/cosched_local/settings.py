"""The settings of the local connector: the table `[connector.local]` of the configuration."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LocalSettings"]

_MOST = 4096
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}\Z")


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What an administrator may choose.

    Attributes:
        hosts: names of the slots.
        spool: folder of the attempts, their output and the markers of hosts that are off.
        beside: how many processes of unpinned tasks run at once, beside those on the slots.
        grace: seconds between SIGTERM and SIGKILL when an attempt is cancelled.
        keep_days: days after which a finished attempt's folder is deleted.
    """

    hosts: tuple[str, ...]
    spool: Path
    beside: int
    grace: float
    keep_days: float

    @classmethod
    def read(cls, table: Mapping[str, object]) -> LocalSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        valid = [field.name for field in fields(cls)]
        for key in table:
            if key not in valid:
                raise UserError(f"connector local has no setting {key!r}: choose from {', '.join(valid)}")
        hosts = _hosts(table.get("hosts", 16))
        return cls(
            hosts=hosts,
            spool=_spool(table.get("spool")),
            beside=int(_number("beside", table.get("beside", len(hosts)), 1, _MOST, whole=True)),
            grace=_number("grace", table.get("grace", 2.0), 0, 3600),
            keep_days=_number("keep_days", table.get("keep_days", 7.0), 0, 36500),
        )


def _wrong(key: str, value: object, expected: str) -> UserError:
    return UserError(f"connector local: {key} = {value!r} is not usable: give {expected}")


def _hosts(value: object) -> tuple[str, ...]:
    expected = f"a number from 1 to {_MOST} or a list of different names of letters, digits, '.', '_' and '-'"
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST:
            raise _wrong("hosts", value, expected)
        width = max(2, len(str(value)))
        return tuple(f"host{number:0{width}}" for number in range(1, value + 1))
    if not isinstance(value, list | tuple) or not value or len(value) > _MOST or len(set(map(str, value))) < len(value):
        raise _wrong("hosts", value, expected)
    for name in value:
        if not isinstance(name, str) or not _HOST.match(name):
            raise _wrong("hosts", name, expected)
    return tuple(value)


def _spool(value: object) -> Path:
    if value is None:
        return _usual_spool(os.environ.get("XDG_STATE_HOME", ""))
    if not isinstance(value, str | Path) or not Path(value).is_absolute():
        raise _wrong("spool", value, "the absolute path of a folder")
    return Path(value)


def _usual_spool(base: str) -> Path:
    """Return the folder below `base` ($XDG_STATE_HOME), or below the home folder where `base` is not absolute."""
    state = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return state / "cosched" / "local"


def _number(key: str, value: object, low: float, high: float, *, whole: bool = False) -> float:
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        raise _wrong(key, value, f"a {'whole ' if whole else ''}number from {low} to {high}")
    return float(value)
