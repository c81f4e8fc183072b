"""Beyond the papers: what the agents of titan-table-2 make of bad networks, stale words and domains that leave.

Half of the domains are cut off from the others for the middle fifth to three fifths of the time in which requests
come; or four domains, one after the other, go down with all that runs on them, are out of reach, and return.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.agent import AgentSettings
from cosched.simulation.experiment import Experiment, Option, Row
from cosched.simulation.experiments import titan_table_2
from cosched.simulation.experiments.titan_table_2 import NAMES, Conditions
from cosched.simulation.grid import Absence
from cosched.simulation.network import Cut

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXPERIMENT"]

_MEASURES = ("makespan", "average_delay", "utilisation", "on_time", "moved", "messages", "repeated")
_LEAVING = ("A1", "A6", "A8", "A12")  # two of the fastest, two of the slowest
_STALE = AgentSettings("", "", push=False, period=60.0, lifetime=360.0)


class _Trouble(NamedTuple):
    delay: float = 0.05
    loss: float = 0.0
    conditions: Conditions = Conditions()


def _troubles(span: float) -> dict[str, _Trouble]:
    """Return what goes wrong, by name, where requests come for so many seconds."""
    cut = Cut(frozenset(NAMES[: len(NAMES) // 2]), 0.2 * span, 0.6 * span)
    away = [(name, 0.2 * span * place, 0.2 * span * (place + 2)) for place, name in enumerate(_LEAVING)]
    cuts = tuple(Cut(frozenset({name}), start, end) for name, start, end in away)
    absences = tuple(Absence(*each) for each in away)
    left = Conditions(cuts=cuts, absences=absences)
    return {
        "none": _Trouble(),
        "letters take 2 s": _Trouble(delay=2.0),
        "1 of 10 letters lost": _Trouble(loss=0.1),
        "3 of 10 lost, 1 of 10 twice": _Trouble(loss=0.3, conditions=Conditions(twice=0.1)),
        "stale advertisements": _Trouble(conditions=Conditions(agent=_STALE)),
        "halves cut off": _Trouble(conditions=Conditions(cuts=(cut,))),
        "four domains leave": _Trouble(conditions=left),
        "all of it": _Trouble(2.0, 0.3, replace(left, twice=0.1, cuts=(cut, *cuts), agent=_STALE)),
    }


def _rows(seed: int, options: Mapping[str, float]) -> list[Row]:
    load, rate = int(options["requests"]), int(options["rate"])
    kept = {name: options[name] for name in ("first", "generations", "documents", "sooner")}
    rows: list[Row] = []
    for name, trouble in _troubles((options["first"] or load) / rate).items():
        settings = titan_table_2.EXPERIMENT.settings({}) | kept | {"delay": trouble.delay, "loss": trouble.loss}
        found = titan_table_2.row(load, rate, "ON", seed, settings, trouble.conditions)
        measured: Row = {column: found[column] for column in _MEASURES}
        rows.append({"trouble": name, **measured})
    return rows


EXPERIMENT = Experiment(
    name="grid-faults",
    reproduces="Beyond the papers: agents with bad networks, stale words and domains that leave",
    keys=("trouble",),
    run=_rows,
    searches=True,
    options={
        "requests": Option(500, "how many", 1, 1000),
        "rate": Option(2, "requests a second", 1, 100),
        "first": Option(0, "only the first so many; 0: all", 0, 1000),
        "sooner": Option(0.5, "of the time to its end, by which a task in time must end sooner to be moved", 0, 1),
        "documents": Option(1, "1: letters pass through their XML documents, as between daemons", 0, 1),
        "generations": Option(20, "of each domain's search at each change", 0, 100000),
    },
    note="repeated: runs that came to their end beyond one for each request",
)
