"""The settings of the simulated connector: the table `[connector.simulated]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable, numbered_hosts, read_settings, setting
from cosched.connector.values import safe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SimulatedSettings"]

_MOST = 4096
_YEAR = 366 * 86400.0


def _hosts(keys: SettingsTable, key: str) -> Mapping[str, str]:
    value = keys.get(key)
    if not isinstance(value, dict):
        return dict.fromkeys(keys.hosts(key, 16), "")
    expected = f"how many hosts of each class, {_MOST} at most, like {{ SunUltra10 = 8, sgi_origin2000 = 8 }}"
    counts = list(value.values())
    whole = all(isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in counts)
    if not whole or not 1 <= sum(counts) <= _MOST or not all(name and "," not in name for name in value):
        raise keys.wrong(key, value, expected)
    what = "connector simulated: a class of hosts"
    classes = [safe(name, what) for name, count in value.items() for _ in range(count)]
    return dict(zip(numbered_hosts(len(classes)), classes, strict=True))


@dataclass(frozen=True, slots=True)
class SimulatedSettings:
    """Settings of the connector, checked.

    Attributes:
        hosts: name → class; the class is empty where none is given.
        spool: folder of the pool's file and of the markers of hosts that are off.
        seed: seed of all draws.
        error: standard deviation of the logarithm of run time ÷ prediction, whose median is 1.
        failures: share of the jobs that end with exit code 1.
        unpredicted: seconds that a job without a prediction lasts (median).
        latency: seconds from a job's submission until it may start.
        grace: seconds that a running job goes on when it is cancelled or its host is taken off.
        keep_days: days after which the pool forgets a job that has ended.
        busy: share of all calls that fail before anything is done.
        lost: share of submits that succeed and whose answer is lost.
        repeat: share of the events' deliveries after which the last ones are delivered again.
        cores: that each host has; None: not said, as for memory and GPUs.
        memory: MiB that each host has.
        gpus: that each host has.
    """

    hosts: Mapping[str, str] = setting(_hosts)
    spool: Path = setting(SettingsTable.state_folder)
    seed: int = setting(SettingsTable.whole, 0, 0, 2**63 - 1)
    error: float = setting(SettingsTable.number, 0.1, 0, 3)
    failures: float = setting(SettingsTable.number, 0.0, 0, 1)
    unpredicted: float = setting(SettingsTable.seconds, 60.0, 0, _YEAR)
    latency: float = setting(SettingsTable.seconds, 0.0, 0, 86400)
    grace: float = setting(SettingsTable.seconds, 0.0, 0, _YEAR)
    keep_days: float = setting(SettingsTable.number, 7.0, 0, 36500)
    busy: float = setting(SettingsTable.number, 0.0, 0, 1)
    lost: float = setting(SettingsTable.number, 0.0, 0, 1)
    repeat: float = setting(SettingsTable.number, 0.0, 0, 1)
    cores: int | None = setting(SettingsTable.optional_whole, 1, 65536)
    memory: int | None = setting(SettingsTable.optional_memory)
    gpus: int | None = setting(SettingsTable.optional_whole, 0, 4096)

    @classmethod
    def read(cls, table: Mapping[str, object]) -> SimulatedSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        return read_settings(cls, "simulated", table)
