"""Beyond the papers: the agents of titan-table-2 under bad networks, stale advertisements and leaving domains.

Half of the domains are cut off from the others for the middle fifth to three fifths of the time in which requests
come; or four domains, one after the other, go down with all that runs on them, are out of reach, and return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cosched.agents.agent_settings import AdvertisingSettings
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.experiments import titan_table_2
from cosched.simulation.experiments.titan_table_2 import DOMAIN_NAMES, GridConditions
from cosched.simulation.grid import HostOutage
from cosched.simulation.network import NetworkFaults, NetworkPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXPERIMENT"]

_MEASURES = ("makespan", "average_delay", "utilisation", "on_time", "moved", "messages", "repeated")
_LEAVING = ("A1", "A6", "A8", "A12")  # two of the fastest, two of the slowest
_STALE = AdvertisingSettings(period=60.0, push=False, lifetime=360.0)


class _Fault(NamedTuple):
    delay: float = 0.05
    loss: float = 0.0
    conditions: GridConditions = GridConditions()


def _faults(span: float) -> dict[str, _Fault]:
    """Return the faults by name, where requests come for `span` seconds."""
    cut = NetworkPartition(frozenset(DOMAIN_NAMES[: len(DOMAIN_NAMES) // 2]), 0.2 * span, 0.6 * span)
    away = [(name, 0.2 * span * place, 0.2 * span * (place + 2)) for place, name in enumerate(_LEAVING)]
    cuts = tuple(NetworkPartition(frozenset({name}), start, end) for name, start, end in away)
    outages = tuple(HostOutage(*each) for each in away)
    left = GridConditions(NetworkFaults(partitions=cuts), outages)
    all_at_once = GridConditions(NetworkFaults(twice=0.1, partitions=(cut, *cuts)), outages, _STALE)
    return {
        "none": _Fault(),
        "letters take 2 s": _Fault(delay=2.0),
        "1 of 10 letters lost": _Fault(loss=0.1),
        "3 of 10 lost, 1 of 10 twice": _Fault(loss=0.3, conditions=GridConditions(NetworkFaults(twice=0.1))),
        "stale advertisements": _Fault(conditions=GridConditions(advertising=_STALE)),
        "halves cut off": _Fault(conditions=GridConditions(NetworkFaults(partitions=(cut,)))),
        "four domains leave": _Fault(conditions=left),
        "all of it": _Fault(2.0, 0.3, all_at_once),
    }


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    load, rate = int(options["requests"]), int(options["rate"])
    kept = {name: options[name] for name in ("first", "generations", "documents", "sooner")}
    rows: list[ResultRow] = []
    for name, trouble in _faults((options["first"] or load) / rate).items():
        settings = titan_table_2.EXPERIMENT.settings({}) | kept | {"delay": trouble.delay, "loss": trouble.loss}
        found = titan_table_2.measured_row(load, rate, "ON", seed, settings, trouble.conditions)
        measured: ResultRow = {column: found[column] for column in _MEASURES}
        rows.append({"trouble": name, **measured})
    return rows


EXPERIMENT = Experiment(
    name="grid-faults",
    reproduces="Beyond the papers: agents with bad networks, stale words and domains that leave",
    keys=("trouble",),
    run=_rows,
    searches=True,
    options={
        "requests": ExperimentOption(500, "how many", 1, 1000),
        "rate": ExperimentOption(2, "requests a second", 1, 100),
        "first": ExperimentOption(0, "run only the first N requests; 0: all", 0, 1000),
        "sooner": ExperimentOption(
            0.5, "of the time to its end, by which a task in time must end sooner to be moved", 0, 1
        ),
        "documents": ExperimentOption(1, "1: letters pass through their XML documents, as between daemons", 0, 1),
        "generations": ExperimentOption(20, "of each domain's search at each change", 0, 100000),
    },
    note="repeated: runs that came to their end beyond one for each request",
)
