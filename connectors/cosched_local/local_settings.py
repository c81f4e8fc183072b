"""The settings of the local connector: the table `[connector.local]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable, read_settings, setting
from cosched.connector.values import safe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["LocalSettings"]

_SLOTS = 16
_MOST = 4096


def _beside(keys: SettingsTable, key: str) -> int:
    return keys.whole(key, len(keys.hosts("hosts", _SLOTS)), 1, _MOST)


def _clusters(keys: SettingsTable, key: str) -> Mapping[str, str]:
    """Return the cluster of each slot that has one."""
    value, slots = keys.get(key, {}), keys.hosts("hosts", _SLOTS)
    expected = 'lists of different slots by name, like { delft = ["host01", "host02"], leiden = ["host03"] }'
    if not isinstance(value, dict) or not all(isinstance(each, list | tuple) for each in value.values()):
        raise keys.wrong(key, value, expected)
    found = [(str(host), safe(name, "connector local: a cluster")) for name, hosts in value.items() for host in hosts]
    if not {host for host, _ in found} <= set(slots) or len(dict(found)) < len(found) or not all(value):
        raise keys.wrong(key, value, expected)
    return dict(found)


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
        clusters: the cluster of each slot that has one; given as lists of slots by the cluster's name.
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
    clusters: Mapping[str, str] = setting(_clusters)
    machine: str = setting(SettingsTable.choice, "own", "shared")

    @classmethod
    def read(cls, table: Mapping[str, object]) -> LocalSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        return read_settings(cls, "local", table)
