"""Licences of problems for tests: made by hand, or drawn by hypothesis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from cosched.scheduling.licences import HeldLicences, Licences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem


def with_one_licence(
    problem: Problem, total: int, demand: Sequence[int], held: Sequence[tuple[float, int]] = ()
) -> Problem:
    """Return the problem with so many of a licence "matlab"; `held` are times until which some are in use."""
    licences = Licences(
        ("matlab",),
        np.array([total], dtype=np.int64),
        np.array(demand, dtype=np.int64).reshape(-1, 1),
        tuple(HeldLicences(until, (amount,)) for until, amount in held),
    )
    return replace(problem, licences=licences)


@st.composite
def licensed(draw: st.DrawFn, problem: Problem) -> Problem:
    """Draw licences of a problem: up to three, some in use at first, perhaps more of them than there are."""
    number = draw(st.integers(1, 3))
    total = draw(st.lists(st.integers(1, 6), min_size=number, max_size=number))
    later = st.integers(0, 4).map(float) | st.floats(0.0, 50.0)
    demand = [[draw(st.integers(0, most)) for most in total] for _ in problem.tasks]
    held = [
        HeldLicences(draw(later), tuple(draw(st.integers(0, most)) for most in total))
        for _ in range(draw(st.integers(0, 3)))
    ]
    names = tuple(f"licence{number}" for number in range(number))
    amounts = np.array(demand, dtype=np.int64).reshape(-1, number)
    return replace(problem, licences=Licences(names, np.array(total, dtype=np.int64), amounts, tuple(held)))
