from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.tasks import AdmissionRule, Chain, Stage, TunableTask, admit
from demo import tunable


def test_a_simulated_pool_computes_nothing() -> None:
    with pytest.raises(SystemExit, match="choose local, condor or slurm"):
        tunable.main("simulated", 3, 1.0, 1, Console(file=io.StringIO()))


def test_arrivals_are_repeatable_and_ascend() -> None:
    moments = tunable.arrivals(5, 3)
    assert moments == tunable.arrivals(5, 3) == sorted(moments)
    assert moments != tunable.arrivals(5, 4)


def test_with_both_ways_more_images_are_in_time_than_with_one() -> None:
    """What the demonstration shows on processes holds on paper, for the arrivals that it draws and others."""
    fine = Chain((Stage(6, 1.0), Stage(3, 2.0, 5.0)))
    coarse = Chain((Stage(3, 2.0), Stage(6, 1.0, 5.0)))

    def served(seed: int, *ways: Chain) -> int:
        holes, count = Holes([0.0] * 6), 0
        for moment in tunable.arrivals(tunable.TASKS, seed):
            holes.forget(moment)
            count += admit(holes, TunableTask("image", moment, ways), AdmissionRule.THRIFTY) is not None
        return count

    assert served(1, fine, coarse) > max(served(1, fine), served(1, coarse))
    every = [(served(seed, fine, coarse), max(served(seed, fine), served(seed, coarse))) for seed in range(2, 22)]
    assert sum(both >= one for both, one in every) >= 18
    assert math.fsum(both for both, _ in every) > 1.1 * math.fsum(one for _, one in every)
