from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.kernels import queue
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.exact.partner import ExactPartner
from cosched.scheduling.heuristics.moldable_tasks import two_phase
from tests.scheduling.problems import a_plan, a_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.scheduling.exact.messages import ExactAnswer
    from cosched.scheduling.problem import Problem

pytestmark = pytest.mark.daemon


@pytest.fixture
def partner() -> Iterator[ExactPartner]:
    made = ExactPartner()
    yield made
    made.close()


def ask(partner: ExactPartner, problem: Problem, seconds: float = 60.0) -> None:
    partner.begin(problem, two_phase(problem), lower_bound(problem), seconds)


def heard(partner: ExactPartner) -> list[ExactAnswer]:
    found = []
    while partner.working:
        found += partner.answers(0.2)
    return found + partner.answers()


def test_problems_are_answered_one_after_the_other(partner: ExactPartner) -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    for seconds, bound in ((6.0, 12.0), (5.0, 10.0)):
        ask(partner, a_problem([[seconds]] * 3))
        assert [answer.bound for answer in heard(partner)][-1] == bound


def test_a_newer_problem_takes_the_place_of_one_at_work(partner: ExactPartner) -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    ask(partner, queue(60, 16, seed=3), 600.0)
    partner.answers(2.0)
    ask(partner, a_problem([[6.0]] * 3))
    assert [answer.bound for answer in heard(partner)][-1] == 12.0


def test_no_answer_comes_while_it_rests(partner: ExactPartner) -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    ask(partner, a_problem([[6.0]] * 3))
    partner.rest()
    assert not partner.working
    assert partner.answers(0.5) == []


def test_a_worker_that_cannot_work_is_left_alone(
    partner: ExactPartner, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It dies of a problem that is none; after three deaths nothing is asked any more."""
    started = []

    class Dying(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **settings: int) -> None:
            started.append(command)
            super().__init__([sys.executable, "-c", "raise SystemExit(1)"], **settings)  # type: ignore[call-overload]

    monkeypatch.setattr("cosched.scheduling.exact.partner.subprocess.Popen", Dying)
    for _ in range(5):
        ask(partner, a_problem([[6.0]] * 3))
        assert heard(partner) == []
    assert len(started) == 3


def test_the_worker_ends_with_the_search() -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    command = [sys.executable, "-m", "cosched.scheduling.exact.worker", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        began = time.monotonic()
        process.wait(60)
        assert time.monotonic() - began < 60


def test_a_plan_is_not_changed(partner: ExactPartner) -> None:
    plan = a_plan([0, 1, 2], [1, 1, 1])
    partner.begin(a_problem([[6.0]] * 3), plan, 9.0, 1.0)
    heard(partner)
    assert np.array_equal(plan.counts, [1, 1, 1])
