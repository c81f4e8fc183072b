from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling import heuristics
from cosched.scheduling.best_heuristic import best_heuristic
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.checker import check
from cosched.scheduling.decoder import decode
from cosched.scheduling.metrics import measure, objective
from cosched.scheduling.problem import Weights
from tests.scheduling.problems import problems


@given(st.data())
def test_no_heuristic_is_better(data: st.DataObject) -> None:
    problem = data.draw(problems())
    plan, compared = best_heuristic(problem, Weights(), lambda: True)
    others = [
        heuristics.two_phase(problem),
        heuristics.earliest_deadline_first(problem),
        heuristics.longest_first(problem),
        heuristics.earliest_finish(problem),
    ]
    least, *costs = (
        objective(measure(problem, decode(problem, each)), Weights(), lower_bound(problem)) for each in [plan, *others]
    )
    assert least <= min(costs)
    assert compared > len(others)
    assert check(problem, decode(problem, plan)) == []


@given(problems())
def test_without_time_the_first_one_answers(problem: object) -> None:
    _, compared = best_heuristic(problem, Weights(), lambda: False)  # type: ignore[arg-type]
    assert compared == 1


def test_it_loads_no_compiler() -> None:
    """Compiling takes a dozen seconds; the heuristics answer where nothing has been compiled yet."""
    code = (
        "import sys, cosched.scheduling.policies, cosched.scheduling.best_heuristic; sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
