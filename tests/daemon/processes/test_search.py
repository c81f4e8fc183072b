from __future__ import annotations

import os
import queue
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cosched.daemon.clock import Clock
from cosched.daemon.processes.planner import SearchAllowance
from cosched.daemon.processes.search import SearchProcess
from cosched.scheduling.objective.weights import Weights
from tests.daemon.processes.test_planner import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.coscheduler.events import ScheduleImproved


@contextmanager
def search() -> Iterator[tuple[SearchProcess, queue.SimpleQueue[ScheduleImproved]]]:
    plans: queue.SimpleQueue[ScheduleImproved] = queue.SimpleQueue()
    running = SearchProcess(plans.put, Clock(), Weights(), 0, SearchAllowance(0, 1.0, 0.2))
    running.start()
    try:
        yield running, plans
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
    until_true(lambda: running._process is not None)
    assert running._process is not None
    return running._process.pid


def until_true(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_search_that_dies_is_started_again_and_goes_on_with_what_it_had() -> None:
    with search() as (running, plans):
        ask(running)
        assert plans.get(timeout=60).since == 100.0
        first = pid(running)
        again: queue.SimpleQueue[ScheduleImproved] = queue.SimpleQueue()
        running._post = lambda plan: (plans if pid(running) == first else again).put(plan)
        os.kill(first, signal.SIGKILL)
        assert again.get(timeout=60).since == 100.0  # nobody has asked anew


def test_a_search_that_dies_while_it_is_written_to_is_started_again() -> None:
    """More than a pipe holds waits to be written as it dies."""
    with search() as (running, plans):
        first = pid(running)
        os.kill(first, signal.SIGSTOP)
        ask(running, tasks=3000)
        time.sleep(0.2)
        os.kill(first, signal.SIGKILL)
        ask(running, moment=200.0)
        assert plans.get(timeout=60).since == 200.0


def test_a_search_that_hangs_does_not_keep_the_daemon_from_ending() -> None:
    with search() as (running, _plans):
        os.kill(pid(running), signal.SIGSTOP)
        ask(running, tasks=3000)
        time.sleep(0.2)


def test_a_search_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("cosched.daemon.processes.search.sys.executable", "/nowhere/python")
        with search() as (running, plans):
            ask(running)
            time.sleep(0.2)
            patch.undo()
            assert plans.get(timeout=60).since == 100.0
