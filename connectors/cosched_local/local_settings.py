"""The settings of the local connector: the table `[connector.local]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable, read_settings, setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["LocalSettings"]

_SLOTS = 16
_MOST = 4096


def _beside(keys: SettingsTable, key: str) -> int:
    return keys.whole(key, len(keys.hosts("hosts", _SLOTS)), 1, _MOST)


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Settings of the connector, checked.

    Attributes:
        hosts: names of the slots.
        spool: folder of the attempts, their output and the markers of hosts that are off.
        beside: most processes of unpinned tasks at once, beside those on the slots.
        grace: seconds between SIGTERM and SIGKILL when an attempt is cancelled.
        keep_days: days after which a finished attempt's folder is deleted.
        cores: that each slot has; None: those of this machine.
        memory: MiB that each slot has; None: that of this machine.
        gpus: that each slot has; None: none.
        machine: "own", or "shared" where others use it, too: what they have of its processors is measured.
    """

    hosts: tuple[str, ...] = setting(SettingsTable.hosts, _SLOTS)
    spool: Path = setting(SettingsTable.state_folder)
    beside: int = setting(_beside)
    grace: float = setting(SettingsTable.number, 2.0, 0, 3600)
    keep_days: float = setting(SettingsTable.number, 7.0, 0, 36500)
    cores: int | None = setting(SettingsTable.optional_whole, 1, 65536)
    memory: int | None = setting(SettingsTable.optional_memory)
    gpus: int | None = setting(SettingsTable.optional_whole, 0, 4096)
    machine: str = setting(SettingsTable.choice, "own", "shared")

    @classmethod
    def read(cls, table: Mapping[str, object]) -> LocalSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        return read_settings(cls, "local", table)
