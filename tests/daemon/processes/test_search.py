from __future__ import annotations

import os
import queue
import signal
import threading
import time
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.events import ScheduleImproved, SearchAwaited
from cosched.daemon.clock import Clock
from cosched.daemon.processes.planner import SearchAllowance
from cosched.daemon.processes.search import SearchProcess
from cosched.scheduling.objective.weights import Weights
from tests.daemon.processes.test_planner import snapshot, three_tasks
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.daemon


class Told:
    """Takes what the core is told of a search."""

    def __init__(self) -> None:
        self.plans: queue.SimpleQueue[ScheduleImproved] = queue.SimpleQueue()
        self.starts: queue.SimpleQueue[SearchAwaited] = queue.SimpleQueue()

    def __call__(self, event: ScheduleImproved | SearchAwaited) -> None:
        if isinstance(event, SearchAwaited):
            self.starts.put(event)
        else:
            self.plans.put(event)


@contextmanager
def search(exact: float = 0.0) -> Iterator[tuple[SearchProcess, Told]]:
    told = Told()
    running = SearchProcess(told, Clock(), Weights(), 0, SearchAllowance(0, 1.0, 0.2, exact))
    running.start()
    try:
        yield running, told
    finally:
        running.stop()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("search")]


@pytest.fixture(autouse=True)
def _soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.daemon.processes.search._START_AGAIN", 0.05)


def ask(running: SearchProcess, tasks: int = 6, moment: float = 100.0) -> None:
    asked = snapshot(tasks, moment)
    running.plan(asked.time, asked.problem, asked.plan)


def pid(running: SearchProcess) -> int:
    until(lambda: running._process is not None)
    assert running._process is not None
    return running._process.pid


def test_signals_to_all_of_the_daemons_processes_are_for_the_daemon_alone() -> None:
    """A service manager ends all processes of a daemon at once: its log had an error of the search each time."""
    with search() as (running, told):
        ask(running)
        assert told.plans.get(timeout=240).since == 100.0
        first = pid(running)
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(first, number)
        ask(running, moment=200.0)
        while told.plans.get(timeout=240).since != 200.0:
            pass
        assert (running.ended, running.pid) == (0, first)


def test_a_search_that_dies_is_started_again_and_goes_on_with_what_it_had() -> None:
    with search() as (running, told):
        ask(running)
        assert told.plans.get(timeout=240).since == 100.0
        first = pid(running)
        again = Told()
        running._post = lambda event: (told if pid(running) == first else again)(event)
        os.kill(first, signal.SIGKILL)
        assert again.plans.get(timeout=240).since == 100.0  # nobody has asked anew


def test_the_core_hears_that_a_search_starts_before_it_answers_and_when_it_starts_again() -> None:
    heard: queue.SimpleQueue[ScheduleImproved | SearchAwaited] = queue.SimpleQueue()
    running = SearchProcess(heard.put, Clock(), Weights(), 0, SearchAllowance(0, 1.0, 0.2))
    running.start()
    try:
        assert isinstance(heard.get(block=False), SearchAwaited)
        ask(running)
        assert isinstance(heard.get(timeout=240), ScheduleImproved)
        os.kill(pid(running), signal.SIGKILL)
        while isinstance(event := heard.get(timeout=240), ScheduleImproved):
            pass
        assert isinstance(event, SearchAwaited)
        assert running.ended == 1
    finally:
        running.stop()


def test_a_search_that_dies_while_it_is_written_to_is_started_again() -> None:
    """More than a pipe holds waits to be written as it dies."""
    with search() as (running, told):
        first = pid(running)
        os.kill(first, signal.SIGSTOP)
        ask(running, tasks=3000)
        time.sleep(0.2)
        os.kill(first, signal.SIGKILL)
        ask(running, moment=200.0)
        assert told.plans.get(timeout=240).since == 200.0


def test_a_search_that_hangs_does_not_keep_the_daemon_from_ending() -> None:
    with search() as (running, _told):
        os.kill(pid(running), signal.SIGSTOP)
        ask(running, tasks=3000)
        time.sleep(0.2)


def test_a_search_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("cosched.daemon.processes.search.sys.executable", "/nowhere/python")
        with search() as (running, told):
            ask(running)
            for _ in range(3):  # the core hears of each try
                told.starts.get(timeout=240)
            patch.undo()
            assert told.plans.get(timeout=240).since == 100.0


def test_modules_where_the_daemon_was_started_are_not_taken_for_pythons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with a file random.py the search died at its start, over and over."""
    (tmp_path / "random.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    partner = find_spec("ortools") is not None
    with search(exact=60.0 if partner else 0.0) as (running, told):
        asked = three_tasks()
        running.plan(asked.time, asked.problem, asked.plan)
        assert told.plans.get(timeout=240).makespan == 11.0
        while partner and told.plans.get(timeout=300).bound < 11.0:  # it has a process of its own
            pass
        assert running.ended == 0
