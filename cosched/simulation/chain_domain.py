"""Tunable jobs go through the daemon's core in virtual time: what it admits, in which way, and when that ends."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.app.submission.stages import stage_tasks
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.stages.ways import in_chain
from cosched.coscheduler.task import Task, TaskSpec
from cosched.prediction.catalogue import CatalogueEntry
from cosched.simulation.kernel_batch import SIMULATED_INSTANCE
from cosched.simulation.simulated_domain import SimulatedDomain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.scheduling.tunable.tasks import Chain

__all__ = ["ServedChain", "serve_chains", "submit_chain"]

_CLASS = "any"
_ENTRY = CatalogueEntry(name="job", model="job", command=("/bin/true",), stages={})


@dataclass(frozen=True, slots=True)
class ServedChain:
    """A job that was admitted.

    Attributes:
        chain: index of the way that was run.
        spans: start and end of each stage, seconds.
    """

    chain: int
    spans: tuple[tuple[float, float], ...]

    @property
    def end(self) -> float:
        """Return when its last stage ended."""
        return self.spans[-1][1]


def serve_chains(arrivals: Sequence[float], chains: Sequence[Chain], hosts: int) -> list[ServedChain | None]:
    """Return what becomes of jobs that arrive one by one, all with the same ways; None for a refused one.

    Run times are as predicted. There is no search: what is guaranteed is the arbitrator's alone.

    Args:
        arrivals: ascending, seconds.
        chains: the ways through each job.
        hosts: how many there are.
    """
    ways: dict[str, int] = {}

    def seconds(task: Task, count: int) -> float:
        assert task.profile is not None
        assert task.stage is not None
        ways[task.id] = task.stage.way  # as it leaves
        return task.profile.on(count)

    domain = SimulatedDomain(CoreSettings(SIMULATED_INSTANCE, staging=0.0), hosts, seconds)
    numbers = itertools.count(1)
    admitted: list[tuple[str, ...]] = []
    for arrival in arrivals:
        domain.run(arrival)
        admitted.append(submit_chain(domain, chains, arrival, numbers))
        domain.run(arrival)
    while domain.calendar.pending:
        domain.run()
    spans = {run.task: (run.started, run.finished) for run in domain.runs}
    return [
        ServedChain(ways[names[-1]], tuple([spans[name] for name in names if name in spans])) if names else None
        for names in admitted
    ]


def submit_chain(
    domain: SimulatedDomain, chains: Sequence[Chain], arrival: float, numbers: Iterator[int]
) -> tuple[str, ...]:
    """Submit a tunable job that can be in time, and return its tasks' names; those of a refused one are none.

    Args:
        domain: at the arrival.
        chains: the ways through it.
        arrival: seconds.
        numbers: numbers for its tasks.
    """
    template = Task("", 0, arrival, TaskSpec("job", "job", ("/bin/true",)))
    made = stage_tasks(template, _ENTRY, [(chain,) for chain in chains], (_CLASS,), 0.0)
    if not domain.core.foresee_chain(made, arrival).in_time:
        return ()
    names = list[str]()
    for task in made:
        number = next(numbers)
        task = in_chain(task, names[0] if names else str(number), names[-1] if names else "")
        domain.post(TaskSubmitted(arrival, replace(task, id=str(number), number=number)))
        names.append(str(number))
    return tuple(names)
