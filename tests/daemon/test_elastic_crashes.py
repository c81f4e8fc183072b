"""The daemon dies between any two steps of growing and giving back: no host has two tenants, nothing is run twice.

`Pool.submit` looks for two tenants of a host at every step.
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
from tests.daemon.lives import Life, Pool, World, a_request, is_worker, live_to_the_end

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.coscheduler.task import Task

ELASTIC = ElasticSettings(payback=0.5, settle=1.0)


def elastic_request() -> Task:
    task = a_request([math.inf, 400.0, 260.0, 200.0])
    return replace(task, spec=replace(task.spec, elastic=Elastic(("/bin/worker", "{worker}"))))


class ElasticStory:
    """An elastic task grows over idle hosts, gives two to a task that comes, gets them back and ends."""

    def __init__(self, folder: Path, world: World, *, shows_fences: bool) -> None:
        self.pool = Pool(4, shows_fences=shows_fences)
        for name in ("h3", "h4"):  # so that two are promised
            self.pool.take_host(name)
        self.world = world
        self.lives = 0
        self.widest = 0
        self._folder = folder

    def run(self) -> None:
        self.lives = live_to_the_end(lambda: Life(self._folder, self.pool, self.world, elastic=ELASTIC), self._live)

    def _live(self, life: Life) -> None:
        life.submit([elastic_request()], "elastic")
        life.settle()
        while not life.over() or not self.pool.completed["2"]:
            life.settle()
            for uuid in life.pool.alive():
                launch, state = self.pool.launches[uuid], self.pool.jobs[uuid].state
                stays = is_worker(launch) or (launch.task == "1" and not self._has_grown_again())
                if state is not JobState.RUNNING or not stays:
                    life.pool.advance(uuid, life.world.time)
                    life.settle()
            if JobState.RUNNING in [self.pool.jobs[uuid].state for uuid in self.pool.alive()]:
                for name in ("h3", "h4"):
                    self.pool.give_host(name)
            running = sum(self.pool.jobs[uuid].state is JobState.RUNNING for uuid in self.pool.alive())
            self.widest = max(self.widest, running)
            if self.widest == 4:
                life.submit([a_request([math.inf, 5.0])], "rigid")
            life.tick()
            assert life.world.time < 2000, "it does not come to an end"
        self._check(life)

    def _has_grown_again(self) -> bool:
        mine = [uuid for uuid in self.pool.alive() if self.pool.launches[uuid].task == "1"]
        return self.pool.completed["2"] > 0 and len(mine) == 4

    def _check(self, life: Life) -> None:
        assert [task.status.state for task in life.store.tasks(limit=99)] == [TaskState.COMPLETED] * 2
        assert self.pool.completed == {"1": 1, "2": 1}
        assert not self.pool.alive()
        assert not any(attempt.state.live for task in ("1", "2") for attempt in life.store.attempts(task))
        assert self.widest == 4


@pytest.mark.parametrize("shows_fences", [True, False])
def test_a_crash_between_any_two_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shows_fences: bool) -> None:
    with World().in_force(monkeypatch) as world:
        story = ElasticStory(tmp_path, world, shows_fences=shows_fences)
        steps = crash_at_each_step(tmp_path, story, ElasticStory.run)
    assert {"before commit", "after commit", "before submit", "after submit", "before cancel"} <= set(steps)
    assert len(steps) > 40
