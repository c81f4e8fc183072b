"""The settings of the local connector: the table `[connector.local]` of the configuration."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector.settings import SettingsTable

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
        keys = SettingsTable("local", table, [field.name for field in fields(cls)])
        hosts = _hosts(keys)
        return cls(
            hosts=hosts,
            spool=_spool(keys),
            beside=int(keys.number("beside", len(hosts), 1, _MOST, whole=True)),
            grace=keys.number("grace", 2.0, 0, 3600),
            keep_days=keys.number("keep_days", 7.0, 0, 36500),
        )


def _hosts(keys: SettingsTable) -> tuple[str, ...]:
    value = keys.get("hosts", 16)
    expected = f"a number from 1 to {_MOST} or a list of different names of letters, digits, '.', '_' and '-'"
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST:
            raise keys.wrong("hosts", value, expected)
        width = max(2, len(str(value)))
        return tuple(f"host{number:0{width}}" for number in range(1, value + 1))
    if not isinstance(value, list | tuple) or not value or len(value) > _MOST or len(set(map(str, value))) < len(value):
        raise keys.wrong("hosts", value, expected)
    for name in value:
        if not isinstance(name, str) or not _HOST.match(name):
            raise keys.wrong("hosts", name, expected)
    return tuple(value)


def _spool(keys: SettingsTable) -> Path:
    value = keys.get("spool")
    if value is None:
        return _usual_spool(os.environ.get("XDG_STATE_HOME", ""))
    if not isinstance(value, str | Path) or not Path(value).is_absolute():
        raise keys.wrong("spool", value, "the absolute path of a folder")
    return Path(value)


def _usual_spool(base: str) -> Path:
    """Return the folder below `base` ($XDG_STATE_HOME), or below the home folder where `base` is not absolute."""
    state = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return state / "cosched" / "local"
