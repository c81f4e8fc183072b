"""The settings of the simulated connector: the table `[connector.simulated]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable, numbered_hosts
from cosched.connector.values import safe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SimulatedSettings"]

_MOST = 4096
_YEAR = 366 * 86400.0


@dataclass(frozen=True, slots=True)
class SimulatedSettings:
    """Settings of the connector, checked.

    Attributes:
        hosts: name → class; the class is empty where none is given.
        spool: folder of the pool's file and of the markers of hosts that are off.
        seed: of all that is drawn.
        error: standard deviation of the logarithm of run time ÷ prediction, whose median is 1.
        failures: share of the jobs that end with exit code 1.
        unpredicted: seconds that a job without a prediction lasts (median).
        latency: seconds from a job's submission until it may start.
        grace: seconds that a running job goes on when it is cancelled or its host is taken off.
        keep_days: days after which the pool forgets a job that has ended.
        busy: share of all calls that fail before anything is done.
        lost: share of submits that succeed and whose answer is lost.
        repeat: share of the events' deliveries after which the last ones are delivered again.
    """

    hosts: Mapping[str, str]
    spool: Path
    seed: int
    error: float
    failures: float
    unpredicted: float
    latency: float
    grace: float
    keep_days: float
    busy: float
    lost: float
    repeat: float

    @classmethod
    def read(cls, table: Mapping[str, object]) -> SimulatedSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        keys = SettingsTable("simulated", table, [field.name for field in fields(cls)])
        return cls(
            hosts=_hosts(keys),
            spool=keys.state_folder("spool"),
            seed=int(keys.number("seed", 0, 0, 2**63 - 1, whole=True)),
            error=keys.number("error", 0.1, 0, 3),
            failures=keys.number("failures", 0.0, 0, 1),
            unpredicted=keys.seconds("unpredicted", 60.0, 0, _YEAR),
            latency=keys.seconds("latency", 0.0, 0, 86400),
            grace=keys.seconds("grace", 0.0, 0, _YEAR),
            keep_days=keys.number("keep_days", 7.0, 0, 36500),
            busy=keys.number("busy", 0.0, 0, 1),
            lost=keys.number("lost", 0.0, 0, 1),
            repeat=keys.number("repeat", 0.0, 0, 1),
        )


def _hosts(keys: SettingsTable) -> dict[str, str]:
    value = keys.get("hosts")
    if not isinstance(value, dict):
        return dict.fromkeys(keys.hosts("hosts", 16), "")
    expected = f"how many hosts of each class, {_MOST} at most, like {{ SunUltra10 = 8, sgi_origin2000 = 8 }}"
    counts = list(value.values())
    whole = all(isinstance(count, int) and not isinstance(count, bool) and count >= 1 for count in counts)
    if not whole or not 1 <= sum(counts) <= _MOST or not all(name and "," not in name for name in value):
        raise keys.wrong("hosts", value, expected)
    what = "connector simulated: a class of hosts"
    classes = [safe(name, what) for name, count in value.items() for _ in range(count)]
    return dict(zip(numbered_hosts(len(classes)), classes, strict=True))
