from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.objective.comparison import PlanFigures, describe_difference

NUMBERS = st.floats(0, 1e6)
FIGURES = st.builds(PlanFigures, NUMBERS, st.integers(0, 9), NUMBERS, st.floats(0, 1))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (PlanFigures(58.0, 1, 10.0, 0.2), "2 more tasks on time, lateness 40 → 10 s, makespan 61 → 58 s"),
        (PlanFigures(61.0, 4, 40.0, 0.2), "1 fewer task on time"),
        (PlanFigures(60.999, 3, 40.0, 0.1), "makespan 61 → 60.999 s, early idle time 20 → 10 %"),
        (PlanFigures(61.0, 3, 40.0, 0.2), ""),
        (PlanFigures(61.0, 3, 234_567.8, 0.2), "lateness 40 → 235000 s"),
    ],
)
def test_it_says_what_changed(after: PlanFigures, said: str) -> None:
    assert describe_difference(PlanFigures(61.0, 3, 40.0, 0.2), after) == said


@given(FIGURES, FIGURES)
def test_what_is_said_back_to_front_speaks_of_the_same_things(one: PlanFigures, other: PlanFigures) -> None:
    there, back = describe_difference(one, other), describe_difference(other, one)
    assert [part.split()[0] for part in there.split(", ") if "→" in part] == [
        part.split()[0] for part in back.split(", ") if "→" in part
    ]
    assert bool(there) == bool(back)
