"""The daemon dies between any two steps of a restart: one attempt at a time, no host with two tenants, no work lost.

`Pool.submit` looks for two live attempts of a task, and two tenants of a host, at every step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.elastic.values import Elastic, ElasticSettings
from cosched.coscheduler.task import TaskState
from tests.daemon.crashes import crash_at_each_step
from tests.daemon.lives import Life, Pool, World, a_request, live_to_the_end

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.coscheduler.task import Task

ELASTIC = ElasticSettings(payback=0.5, settle=1.0)
BEGIN = 1000.0  # of the world


def model() -> Task:
    """Return a task that is best off on all four hosts and checkpoints when it is asked."""
    task = a_request([420.0, 205.0, 135.0, 100.0])
    return replace(task, spec=replace(task.spec, elastic=Elastic(restart=True, cost=2.0, grace=600.0)))


def urgent() -> Task:
    """Return a task that is late unless it has two of these soon."""
    task = a_request([math.inf, 200.0])
    return replace(task, spec=replace(task.spec, deadline=BEGIN + 280.0))


class RestartStory:
    """A program checkpoints for a task with a deadline, goes on beside it and ends."""

    def __init__(self, folder: Path, world: World, *, shows_fences: bool) -> None:
        self.pool = Pool(4, shows_fences=shows_fences)
        self.world = world
        self.lives = 0
        self._folder = folder

    def run(self) -> None:
        self.lives = live_to_the_end(lambda: Life(self._folder, self.pool, self.world, elastic=ELASTIC), self._live)

    def _live(self, life: Life) -> None:
        life.submit([model()], "model")
        life.settle()
        while not life.over() or not self.pool.completed["2"]:
            life.settle()
            for uuid in life.pool.alive():
                running = self.pool.jobs[uuid].state is JobState.RUNNING
                if not running:
                    life.pool.advance(uuid, life.world.time)
                elif self.pool.launches[uuid].task == "2":
                    if self._may_end(uuid):
                        life.pool.advance(uuid, life.world.time)
                elif self._is_asked(life, uuid):
                    life.pool.checkpoint(uuid, life.world.time)
                elif self.pool.completed["2"]:
                    life.pool.advance(uuid, life.world.time)
                life.settle()
            if life.world.time > BEGIN + 10.0:
                life.submit([urgent()], "urgent")
            life.tick()
            assert life.world.time < BEGIN + 2000.0, "it does not come to an end"
        self._check(life)

    def _is_asked(self, life: Life, uuid: str) -> bool:
        return any(each.uuid == uuid and each.leave_by is not None for each in life.store.attempts("1"))

    def _may_end(self, uuid: str) -> bool:
        """Return whether the other one goes on beside it, or had the time to: it may as well wait for all hosts."""
        others = [other for other in self.pool.alive() if other != uuid]
        beside = any(self.pool.jobs[other].state is JobState.RUNNING for other in others)
        return beside or self.world.time > (self.pool.jobs[uuid].started or 0.0) + 20.0

    def _check(self, life: Life) -> None:
        first, second = sorted(life.store.tasks(limit=99), key=lambda task: task.number)
        assert first.status.state is second.status.state is TaskState.COMPLETED
        assert self.pool.completed == {"1": 1, "2": 1}
        assert not self.pool.alive()
        assert first.status.restarts is not None
        starts = [each.environment["COSCHED_START"] for each in self.pool.launches.values() if each.task == "1"]
        assert starts == [str(number) for number in range(1, first.status.restarts.count + 2)]
        assert len(starts) >= 2


@pytest.mark.parametrize("shows_fences", [True, False])
def test_a_crash_between_any_two_steps_of_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shows_fences: bool
) -> None:
    with World().in_force(monkeypatch) as world:
        story = RestartStory(tmp_path, world, shows_fences=shows_fences)
        steps = crash_at_each_step(tmp_path, story, RestartStory.run)
    assert {"before commit", "after commit", "before submit", "after submit"} <= set(steps)
    assert len(steps) > 20
