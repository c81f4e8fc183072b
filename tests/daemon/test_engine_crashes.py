"""The daemon dies between any two steps and is started again: every task runs exactly once, none is lost."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.task import TaskState
from tests.daemon.crashes import crash_at_each_step, remains_of_each_step
from tests.daemon.lives import CrashError, Life, Pool, World, a_request, live_to_the_end
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HALVING = [4.0, 2.0, 4 / 3, 1.0]
SUBMISSIONS = {
    "one": [a_request(HALVING)],
    "three": [a_request(HALVING), a_request([4.0]), a_request(None, count=2)],
}
TASKS = ("1", "2", "3", "4")


class Story:
    """A few submissions and what becomes of them, through as many lives as it takes."""

    def __init__(self, folder: Path, world: World, *, shows_fences: bool = True, hears_all_again: bool = True) -> None:
        self.pool = Pool(3, shows_fences=shows_fences)
        self.world = world
        self.lives = 0
        self._folder = folder
        for file in folder.glob("cosched.db*"):  # of the story before
            file.unlink()
        self._hears_all_again = hears_all_again

    def run(self, live: Callable[[Life], None]) -> None:
        """Let one daemon after the other live until one comes to the end, and check what came of it."""

        def begin() -> Life:
            return Life(self._folder, self.pool, self.world, hears_all_again=self._hears_all_again)

        def live_and_check(life: Life) -> None:
            live(life)
            self.check(life)

        self.lives = live_to_the_end(begin, live_and_check)

    def live_in_order(self) -> None:
        self.run(in_order)

    def check(self, life: Life) -> None:
        assert [task.status.state for task in life.store.tasks(limit=99)] == [TaskState.COMPLETED] * len(TASKS)
        assert self.pool.completed == dict.fromkeys(TASKS, 1)
        assert not self.pool.alive()
        assert not any(attempt.state.live for task in TASKS for attempt in life.store.attempts(task))


def in_order(life: Life) -> None:
    """Submit everything, then let everything happen in one fixed order."""
    for key, tasks in SUBMISSIONS.items():
        life.submit(tasks, key)
        life.settle()
    while not life.over():
        life.settle()
        for uuid in life.pool.alive():
            life.pool.advance(uuid, life.world.time)
            life.settle()
        life.tick()
        assert life.world.time < 2000, "it does not come to an end"


@pytest.mark.parametrize(("shows_fences", "hears_all_again"), [(True, True), (False, False)])
def test_a_crash_between_any_two_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shows_fences: bool, hears_all_again: bool
) -> None:
    with World().in_force(monkeypatch) as world:
        story = Story(tmp_path, world, shows_fences=shows_fences, hears_all_again=hears_all_again)
        steps = crash_at_each_step(tmp_path, story, Story.live_in_order)
    assert set(steps) == {"before commit", "after commit", "before submit", "after submit"}


def test_a_second_crash_while_the_first_is_being_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first daemon dies with a submit that never left; its successor dies as it looks for that, and fences it."""
    with World().in_force(monkeypatch) as world:
        story = Story(tmp_path, world)
        remains = remains_of_each_step(tmp_path, story, Story.live_in_order)
        next(each for each in remains if each.step == "before submit").put_back(tmp_path, story)
        steps = crash_at_each_step(tmp_path, story, Story.live_in_order)
    assert {"before find", "after find", "before cancel", "after cancel", "before commit"} <= set(steps)


@pytest.mark.parametrize("seed", range(examples(6)))
def test_faults_and_crashes_at_random_moments_lose_no_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The threads take turns at random; answers, hosts and the manager get lost; the daemon dies up to seven times."""
    with World().in_force(monkeypatch) as world:
        story = Story(tmp_path, world, shows_fences=seed % 2 == 0, hears_all_again=seed % 3 == 0)
        story.run(Weather(world, seed).live)
    assert story.lives > 1


class Weather:
    """Chance: what happens next, and for how long things go wrong."""

    def __init__(self, world: World, seed: int) -> None:
        self.crashes = 0
        self._world = world
        self._random = random.Random(seed)
        self._steps = 400
        world.crash = self._maybe_crash

    def live(self, life: Life) -> None:
        self.play(life)
        in_order(life)

    def play(self, life: Life) -> None:
        """Let everything happen, then let the sun shine."""
        while self._steps > 0:
            self._steps -= 1
            steps: list[Callable[[], None]] = [*life.enabled().values(), life.tick, partial(self._act, life)]
            self._random.choice(steps)()
        self._clear(life.pool)

    def _act(self, life: Life) -> None:
        """Something happens that is not in the daemon's hands."""
        pool, world = life.pool, self._world
        alive = pool.alive()
        host = self._random.choice(sorted(pool.hosts))
        match self._random.randrange(8):
            case 0:
                key = self._random.choice(list(SUBMISSIONS))
                life.submit(SUBMISSIONS[key], key)
            case 1 | 2 if alive:
                pool.advance(self._random.choice(alive), world.time)
            case 3:
                (pool.take_host if pool.hosts[host].up else pool.give_host)(host)
            case 4:
                world.manager_answers = not world.manager_answers or self._random.random() < 0.7
            case 5:
                world.loses_answers = self._random.random() < 0.4
            case 6:
                world.store_writes = False
            case 7:
                pool.room = self._random.choice([0, 1, 2, 99])

    def _maybe_crash(self, world: World) -> None:
        if self._steps > 0 and self.crashes < 7 and (not self.crashes or self._random.random() < 0.15):
            self.crashes += 1
            raise CrashError

    def _clear(self, pool: Pool) -> None:
        self._world.manager_answers, self._world.loses_answers = True, False
        pool.room = 99
        for name in pool.hosts:
            pool.give_host(name)


def test_a_submit_whose_answer_is_lost_is_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(loses_answers=True).in_force(monkeypatch) as world:
        story = Story(tmp_path, world)
        story.run(in_order)
    assert len(story.pool.jobs) == len(TASKS)


def test_a_manager_with_room_for_one_job_takes_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World().in_force(monkeypatch) as world:
        story = Story(tmp_path, world)
        story.pool.room = 1
        story.run(in_order)
    assert len(story.pool.launches) == len(TASKS)
    assert world.reached.count("before find") == 0  # what was refused is not looked for


def test_a_manager_that_does_not_answer_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def live(life: Life) -> None:
        life.settle()
        world.manager_answers = False
        life.submit(SUBMISSIONS["three"], "three")
        for _ in range(100):  # much longer than the grace: not to be asked is not to be absent
            life.settle()
            life.tick()
        world.manager_answers = True
        in_order(life)

    with World().in_force(monkeypatch) as world:
        Story(tmp_path, world).run(live)
    assert world.reached.count("before find") > 3


def test_nothing_is_acted_on_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def live(life: Life) -> None:
        world.store_writes = False  # until it has refused three times
        in_order(life)
        assert life.inbox.store_fault == ""

    with World().in_force(monkeypatch) as world:
        Story(tmp_path, world).run(live)
    faults = [place for place, step in enumerate(world.reached) if step == "store fault"]
    assert world.reached[: faults[-1] + 2] == ["store fault"] * 3 + ["before commit"]


def test_a_wish_to_cancel_survives_a_crash_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def live(life: Life) -> None:
        life.submit(SUBMISSIONS["one"], "one")
        life.settle()
        life.cancel("1")
        while not life.over():
            life.settle()
            life.tick()
        task = life.store.task("1")
        assert task is not None
        assert task.status.state is TaskState.CANCELLED
        assert not life.pool.alive()
        assert not life.pool.completed

    with World().in_force(monkeypatch) as world:
        story = Story(tmp_path, world)
        story.check = lambda life: None  # type: ignore[method-assign]  # the task does not complete here
        steps = crash_at_each_step(tmp_path, story, lambda story: story.run(live))
    assert {"before commit", "after commit", "before submit", "before cancel"} <= set(steps)
