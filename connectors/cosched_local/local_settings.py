"""The settings of the local connector: the table `[connector.local]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["LocalSettings"]

_MOST = 4096


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Settings of the connector, checked.

    Attributes:
        hosts: names of the slots.
        spool: folder of the attempts, their output and the markers of hosts that are off.
        beside: most processes of unpinned tasks at once, beside those on the slots.
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
        hosts = keys.hosts("hosts", 16)
        return cls(
            hosts=hosts,
            spool=keys.state_folder("spool"),
            beside=int(keys.number("beside", len(hosts), 1, _MOST, whole=True)),
            grace=keys.number("grace", 2.0, 0, 3600),
            keep_days=keys.number("keep_days", 7.0, 0, 36500),
        )
