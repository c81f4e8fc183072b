from __future__ import annotations

import math
from itertools import islice

import pytest

from cosched.errors import UserError
from cosched.modelling.holdout import HOLDOUTS, held_out
from cosched.modelling.points import TimedRun
from cosched.modelling.validation import judged
from tests.modelling.makers import stencil_runs

RUNS = stencil_runs(noise=0.03)


@pytest.mark.parametrize(
    ("what", "count"), [("size:inside", 18), ("size:ends", 24), ("size:2x", 12), ("size:4x", 24), ("hosts:new", 20)]
)
def test_a_model_of_the_others_foretells_what_is_held_out(what: str, count: int) -> None:
    foretold = list(islice(held_out("heat", RUNS, what), count))
    assert len(foretold) == count
    assert what in HOLDOUTS
    assert sum(abs(each.seconds / each.run.seconds - 1) for each in foretold) / count < 0.05
    assert sum(each.low <= each.run.seconds <= each.high for each in foretold) / count > 0.85
    others = [each.other for each in foretold if each.other]
    assert len(others) == count
    assert (
        sum(low <= each.run.seconds <= high for each, (low, high) in zip(foretold, others, strict=True)) / count > 0.8
    )
    assert all(1 < high / low < 1.5 for low, high in others)


def test_the_held_out_run_has_no_part_in_its_prediction() -> None:
    slow = [run.parameters["nx"] == run.parameters["ny"] == 1024 for run in RUNS]
    runs = [
        type(run)(run.parameters, run.processors, run.seconds * (5 if odd else 1))
        for run, odd in zip(RUNS, slow, strict=True)
    ]
    plain = {id(each.run): each.seconds for each in held_out("heat", runs, "size:2x")}
    assert plain
    assert all(seconds < 0.35 for seconds in plain.values())


@pytest.mark.parametrize(
    ("what", "counts", "sides", "said"),
    [
        ("hosts:new", (2,), (64, 128, 256, 512), "all runs are on one number of hosts"),
        ("hosts:new", (1, 2), (64, 128, 256, 512), "leaves runs on one number of hosts: it takes two others"),
        ("size:4x", (1,), (64, 8192), "--holdout size:4x leaves too little"),
        ("size:inside", (1,), (64, 128, 256), "no size is between others: run more sizes"),
    ],
)
def test_too_few_runs_are_told(what: str, counts: tuple[int, ...], sides: tuple[int, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        list(held_out("heat", stencil_runs(counts=counts, sides=sides), what))


def test_a_law_of_a_logarithm_alone_foretells_the_least_time_where_that_is_nothing() -> None:
    """The time of n = 1 was taken for 0, of which there is no logarithm."""
    runs = [TimedRun({"n": n}, 1, max(0.1, math.log2(n))) for n in (1, 2, 4, 8, 16, 32, 64, 128)]
    found = list(held_out("a", runs, "size:ends"))
    assert all(0 < each.low <= each.seconds <= each.high for each in found)
    assert judged("ends", found).runs == 2
