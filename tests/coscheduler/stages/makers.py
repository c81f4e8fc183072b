"""Chains of stages for the tests of the core."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.coscheduler.stages.stage import NO_WORK, StageInChain, StageInWay, StageWork
from cosched.coscheduler.stages.ways import in_chain, in_way
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import a_task, submit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

Way = tuple[float, "Sequence[tuple[str, int, float]]"]
"""Quality, then name, hosts and seconds of each stage."""


def a_chain(number: int, *ways: Way, deadline: float | None = None, time: float = 0.0, **changes: Any) -> list[Task]:
    """Return the tasks of a chain; every stage has its latest end by the chain's deadline."""
    count = max(len(stages) for _, stages in ways)
    tasks: list[Task] = []
    for index in range(count):
        works, places = list[StageWork](), []
        for quality, stages in ways:
            if index >= len(stages):
                places.append(StageInWay(NO_WORK, quality=quality))
                continue
            name, hosts, seconds = stages[index]
            work = _work(name, hosts, seconds)
            if work not in works:
                works.append(work)
            after = sum(each for _, _, each in stages[index + 1 :])
            latest = math.inf if deadline is None else deadline - after
            places.append(StageInWay(works.index(work), latest=latest, quality=quality))
        task = a_task(number + index, [1.0], submitted=time, **changes)
        stage = StageInChain(
            "", "app", index, count, tuple(works), tuple(places), deadline, open=tuple(range(len(ways)))
        )
        task = in_way(replace(task, stage=stage), 0)
        tasks.append(in_chain(task, str(number), tasks[-1].id if tasks else ""))
    return tasks


def submit_chain(core: Coscheduler, chain: Sequence[Task], time: float = 0.0) -> Outcome:
    """Submit the tasks of a chain; the outcome is that of the last."""
    for task in chain[:-1]:
        submit(core, task, time)
    return submit(core, chain[-1], time)


def _work(name: str, hosts: int, seconds: float) -> StageWork:
    times = (math.inf,) * (hosts - 1) + (seconds,)
    profile = Profile(times, PredictionSource.MODEL, "test")
    return StageWork(name, f"app.{name}", hosts, profile, f"app.{name}/test", ("/bin/true", name, str(hosts)))


def with_turns(chain: Sequence[Task], within: Sequence[float]) -> list[Task]:
    """Return a chain as turns of a loop, of which each stage is to end so many seconds after its turn's beginning."""
    tasks: list[Task] = []
    for index, task in enumerate(chain):
        assert task.stage is not None
        place, since = index % len(within), index - index % len(within)
        ways = tuple([replace(way, since=since, within=within[place]) for way in task.stage.ways])
        tasks.append(replace(task, stage=replace(task.stage, ways=ways)))
    return tasks
