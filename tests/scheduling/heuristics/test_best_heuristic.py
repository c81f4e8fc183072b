from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics import moldable_tasks
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import problems


@given(st.data())
def test_no_heuristic_is_better(data: st.DataObject) -> None:
    problem = data.draw(problems())
    plan, compared = best_heuristic(problem, Weights(), lambda: True)
    others = [
        moldable_tasks.two_phase(problem),
        moldable_tasks.earliest_deadline_first(problem),
        moldable_tasks.longest_first(problem),
        moldable_tasks.earliest_finish(problem),
    ]
    least, *costs = (
        objective(measure(problem, decode(problem, each)), Weights(), lower_bound(problem)) for each in [plan, *others]
    )
    assert least <= min(costs)
    assert compared > len(others)
    assert check_schedule(problem, decode(problem, plan)) == []


@given(problems())
def test_without_time_the_first_one_answers(problem: object) -> None:
    _, compared = best_heuristic(problem, Weights(), lambda: False)  # type: ignore[arg-type]
    assert compared == 1


def test_it_loads_no_compiler() -> None:
    """Compiling takes a dozen seconds; the heuristics answer where nothing has been compiled yet."""
    modules = "cosched.scheduling.policies, cosched.scheduling.heuristics.moldable_tasks"
    code = f"import sys, {modules}; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
