from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.kernels import queue
from cosched.coscheduler.events import ScheduleImproved
from cosched.daemon.processes.planner import PlanningSnapshot
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from tests.scheduling.problems import a_problem
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.scheduling.problem import Problem

pytestmark = pytest.mark.daemon


def snapshot(tasks: int = 6, time: float = 100.0) -> PlanningSnapshot:
    problem = queue(tasks, 16, seed=1)
    plan = Plan(np.arange(tasks), np.ones(tasks, dtype=np.int64))
    return PlanningSnapshot(time, problem, plan, Weights(), 0)


@contextmanager
def planner(converged: float = 0.2, exact: float = 0.0) -> Iterator[subprocess.Popen[bytes]]:
    numbers = ["0", "1.0", str(converged), str(exact)]
    command = [sys.executable, "-m", "cosched.daemon.processes.planner", *numbers]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def give(process: subprocess.Popen[bytes], what: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(what)
    process.stdin.flush()


def said(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    return process.stderr.read().decode()


def makespan(problem: Problem, improved: ScheduleImproved) -> float:
    place = {name: number for number, name in enumerate(problem.tasks)}
    counts = np.zeros(len(problem.tasks), dtype=np.int64)
    for task, count in zip(improved.plan.tasks, improved.plan.counts, strict=True):
        counts[place[task]] = count
    schedule = decode(problem, Plan(np.array([place[task] for task in improved.plan.tasks]), counts))
    return max(spot.end for spot in schedule.assignments)


def test_a_snapshot_is_answered_with_plans_that_are_what_they_say() -> None:
    with planner() as process:
        asked = snapshot()
        give(process, pickle.dumps(asked))
        assert process.stdout is not None
        answer: Any = pickle.load(process.stdout)
        assert isinstance(answer, ScheduleImproved)
        assert sorted(answer.plan.tasks) == sorted(asked.problem.tasks)
        assert answer.since == asked.time
        assert answer.makespan == pytest.approx(makespan(asked.problem, answer))
        assert answer.makespan >= answer.bound > 0


def test_without_machine_code_on_disk_a_heuristic_answers_before_it_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with planner() as process:
        asked = snapshot()
        give(process, pickle.dumps(asked))
        assert process.stdout is not None
        answer: Any = pickle.load(process.stdout)
        assert not answer.settled
        assert answer.evaluations == 4
        assert answer.makespan == pytest.approx(makespan(asked.problem, answer))
        # Regression: a task that takes fewer host-seconds on more hosts waited for those, beside idle ones.
        problem = a_problem([[math.inf, 60.0, 30.0, 20.0]], 4, free=[0.0, 0.0, 300.0, 300.0])
        widest = Plan(np.array([0]), np.array([4]))
        give(process, pickle.dumps(PlanningSnapshot(100.0, problem, widest, Weights(), 0)))
        answer = pickle.load(process.stdout)
        assert not answer.settled
        assert answer.makespan == 60.0


PRIORITIES = """
import os, sys, threading
from cosched.daemon.processes import planner
from cosched.scheduling import kernel_cache
from cosched.scheduling.search import genetic_search

def warm_up():
    print(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), file=sys.stderr, flush=True)

kept = sys.argv.pop() == "kept"
kernel_cache.ready = lambda: kept
genetic_search.warm_up = warm_up
planner.main()
"""


@pytest.mark.parametrize("code", ["kept", "missing"])
def test_machine_code_is_read_at_the_daemons_priority_and_compiled_at_the_searchs(code: str) -> None:
    """Beside a busy machine's programs a niced search took tens of seconds to begin, and tasks waited for it."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    niced, pipe = min(own + 3, 19), subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PRIORITIES, "3", "1.0", code], stdin=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        try:
            assert int(process.stderr.readline()) == (own if code == "kept" else niced)
            until(lambda: os.getpriority(os.PRIO_PROCESS, process.pid) == niced)
        finally:
            process.kill()


def three_tasks() -> PlanningSnapshot:
    """Return tasks of 6, 6 and 5 s on two hosts: 11 s are the shortest, the hosts' time says 9 s."""
    problem = a_problem([[6.0], [6.0], [5.0]])
    return PlanningSnapshot(100.0, problem, Plan(np.arange(3), np.ones(3, dtype=np.int64)), Weights(), 0)


def test_the_exact_partner_raises_the_bound_after_the_search_has_converged() -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    with planner(exact=60.0) as process:
        give(process, pickle.dumps(three_tasks()))
        said = process.stdout
        assert said is not None
        answers: list[Any] = [pickle.load(said)]
        while answers[-1].bound < 11.0:
            answers.append(pickle.load(said))
        assert answers[0].bound < 11.0
        assert answers[-1].makespan == answers[-1].bound == 11.0
        asked = snapshot(tasks=4, time=200.0)  # and what comes next is planned as ever
        give(process, pickle.dumps(asked))
        while answers[-1].since != asked.time:
            answers.append(pickle.load(said))


def test_without_the_partner_the_bound_stays() -> None:
    with planner(exact=0.0) as process:
        give(process, pickle.dumps(three_tasks()) + pickle.dumps(three_tasks()))
        assert process.stdout is not None
        answer: Any = pickle.load(process.stdout)
        assert answer.makespan == 11.0 > answer.bound


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0], ids=["before", "in-mid-word", "at-work"])
def test_the_planner_ends_with_the_daemon(part: float) -> None:
    """Whatever it does when its input ends; cut off in mid-word, it once went on for ever."""
    with planner(converged=60.0) as process:
        words = pickle.dumps(snapshot(tasks=50))
        give(process, words[: int(len(words) * part)])
        if part == 1.0:
            assert process.stdout is not None
            pickle.load(process.stdout)
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = open("/dev/null", "wb")  # noqa: PTH123, SIM115  closed with the others
        assert process.wait(60) == 0
        assert said(process) == ""


def test_the_planner_ends_quietly_where_nobody_reads_its_plans() -> None:
    with planner(converged=60.0) as process:
        assert process.stdout is not None
        process.stdout.close()
        give(process, pickle.dumps(snapshot(tasks=50)))
        assert process.wait(60) == 0
        assert said(process) == ""


def test_the_planner_ends_at_a_snapshot_that_it_does_not_understand() -> None:
    """Deaf, it would live on, and the daemon would plan no more."""
    with planner() as process:
        give(process, b"ccosched.daemon.processes.planner\nNoLonger\n.")
        assert process.wait(60) == 1
        assert "NoLonger" in said(process)
