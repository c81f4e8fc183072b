from __future__ import annotations

import math
import random
from copy import copy
from functools import reduce
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.history import Run
from cosched.prediction.pooling import Level, Pool, pool_quantiles, pooled_weights
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOISE = 0.03


def level(*offs: float) -> Level:
    known = Level()
    for off in offs:
        known = known.learn(off)
    return known


def test_a_wrong_level_is_mended_by_the_first_runs() -> None:
    assert level(math.log(3), math.log(3)).bias == pytest.approx(math.log(3))


@pytest.mark.parametrize("seed", range(3))
def test_one_stray_run_moves_the_level_little_and_widens_its_range(seed: int) -> None:
    draw = random.Random(seed)
    known = level(*(draw.gauss(0, NOISE) for _ in range(20)))
    after = known.learn(math.log(4))
    assert abs(after.bias) < 0.05
    assert after.doubtful_deviation > 1.0
    assert abs(level(*(draw.gauss(0, NOISE) for _ in range(5))).bias) < 0.05
    assert after.learn(0.0).doubtful_deviation < after.doubtful_deviation


def test_two_runs_that_surprise_alike_restart_the_level_and_opposite_ones_do_not() -> None:
    known = level(*(0.0,) * 20)
    assert known.learn(0.5).learn(0.46).bias == pytest.approx(0.48)
    assert abs(known.learn(0.5).learn(-0.5).bias) < 0.05


def test_a_run_that_is_little_trusted_hardly_moves_the_level() -> None:
    assert Level().learn(1.0, 0.01).bias == pytest.approx(0.01)


def _weights(start: Sequence[float], scores: Iterable[Sequence[float | None]]) -> Sequence[float]:
    return reduce(pooled_weights, scores, start)


def test_the_source_that_foretells_better_gets_the_weight_and_no_run_takes_it_all() -> None:
    good, bad = (0.0, -3.0), (-8.0, 0.0)
    assert _weights((0.5, 0.5), [good] * 9)[0] > 0.95
    assert _weights((0.5, 0.5), [good] * 9 + [bad] * 9)[1] > 0.95  # it can come back
    assert min(_weights((0.5, 0.5), [good] * 99)) > 0.01


def test_a_source_that_says_nothing_keeps_its_weight() -> None:
    assert pooled_weights((0.6, 0.4), (-1.0, None))[1] == pytest.approx(0.4, abs=0.02)
    assert pooled_weights((0.6, 0.4), (None, None)) == [0.6, 0.4]


def test_a_pool_of_one_has_its_quantiles() -> None:
    weights, means, deviations = np.array([[1.0]]), np.array([[2.0]]), np.array([[0.5]])
    for share in (0.05, 0.5, 0.9):
        ((found,),) = pool_quantiles(weights, means, deviations, (share,))
        assert found == pytest.approx(NormalDist(2.0, 0.5).inv_cdf(share), abs=1e-3)


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(-9, 9), st.floats(0.01, 5)), min_size=1, max_size=4),
)
def test_quantiles_of_a_pool_ascend_within_those_of_its_sources(sources: list[tuple[float, float, float]]) -> None:
    columns = [np.array(column)[:, np.newaxis] for column in zip(*sources, strict=True)]
    shares = (0.05, 0.5, 0.95)
    found = [float(value[0]) for value in pool_quantiles(columns[0] / columns[0].sum(), columns[1], columns[2], shares)]
    assert all(low <= high + 1e-6 for low, high in pairwise(found))
    for share, value in zip(shares, found, strict=True):
        each = [NormalDist(mean, deviation).inv_cdf(share) for _, mean, deviation in sources]
        assert min(each) - 0.01 <= value <= max(each) + 0.01


def _times(model: str, size: float, hosts: int) -> tuple[float, float]:
    """Return how long a run takes, and what a model says of it."""
    exact = 2e-6 * size**2 / hosts + 0.3 + 2e-5 * size * hosts
    return exact, {"right": exact, "wrong shape": exact / math.sqrt(hosts), "always the same": 10.0}[model]


def _stated_runs(model: str, seed: int, count: int) -> list[Run]:
    draw, runs = random.Random(seed), []
    for _ in range(count):
        size, hosts = float(int(10 ** draw.uniform(2.5, 4))), draw.randint(1, 8)
        exact, stated = _times(model, size, hosts)
        runs.append(Run((size,), hosts, "", exact * math.exp(draw.gauss(0, NOISE)), stated=stated))
    return runs


def test_a_right_model_is_believed_and_one_of_a_wrong_shape_is_not() -> None:
    assert all(Pool(_stated_runs("right", seed, 9)).weights[0] > 0.5 for seed in range(5))
    assert all(Pool(_stated_runs("wrong shape", seed, 6)).weights[0] < 0.3 for seed in range(5))
    assert all(Pool(_stated_runs("always the same", seed, 10)).weights[0] < 0.3 for seed in range(5))


@pytest.mark.parametrize(("runs", "most"), [(3, 6.0), (12, 4.0)])
def test_a_model_that_was_right_of_short_runs_is_believed_of_a_long_one(runs: int, most: float) -> None:
    """The range was 0.3 s to 4 h about 73 s, whatever the model had said, as no other size had run yet."""
    for seed in range(5):
        draw = random.Random(seed)
        short = [Run((100.0,), 1, "", 10 * math.exp(draw.gauss(0, NOISE)), stated=10.0) for _ in range(runs)]
        low, median, high = (float(value[0]) for value in Pool(short).quantiles((900.0,), [810.0], [1], ""))
        assert 1 / most < low / 810 < median / 810 < high / 810 < most
        assert high / low > 2  # and yet it may be wrong


def test_a_count_in_any_unit_is_as_sure_of_sizes_that_nobody_ran() -> None:
    """A count of which one takes a microsecond was taken for a model that may be off by a million there."""
    draw, widths = random.Random(4), []
    sizes = [draw.uniform(100, 300) for _ in range(12)]
    times = [2e-3 * size * math.exp(draw.gauss(0, NOISE)) for size in sizes]
    for unit in (1.0, 1e6):
        runs = [
            Run((size,), 1, "", seconds, stated=1e-3 * unit * size) for size, seconds in zip(sizes, times, strict=True)
        ]
        low, _, high = (float(value[0]) for value in Pool(runs).quantiles((2000.0,), [2.0 * unit], [1], ""))
        widths.append(high / low)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_a_model_that_is_unsure_of_what_has_not_run_yet_stays_so() -> None:
    """Its own range was dropped there for that of the runs, which knew nothing of such sizes."""
    draw, widths = random.Random(3), []
    pool = Pool([Run((100.0,), 1, "", 10 * math.exp(draw.gauss(0, NOISE)), stated=10.0) for _ in range(12)])
    for size in (100.0, 900.0):
        seconds = 10 * (size / 100) ** 2
        found = pool.corrected(
            (size,), Profile((seconds,), PredictionSource.MODEL, "", (seconds / 5,), (seconds * 5,)), ""
        )
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high[0] / found.low[0])
    assert widths[0] < 1.5
    assert widths[1] == pytest.approx(25.0, rel=0.05)


def test_a_run_that_is_added_counts_as_one_that_was_learnt() -> None:
    runs = _stated_runs("wrong shape", 3, 40)
    anew, added = Pool(runs), Pool(runs[:36])
    for run in runs[36:]:
        before, added = added, copy(added)
        added.add(run)
        assert len(before.alone.runs) == len(added.alone.runs) - 1
    for size in (400.0, 9000.0):
        stated = [_times("wrong shape", size, hosts)[1] for hosts in (1, 2)]
        expected, found = (pool.quantiles((size,), stated, [1, 2], "") for pool in (anew, added))
        for wanted, value in zip(expected, found, strict=True):
            assert value.tolist() == pytest.approx(wanted.tolist(), rel=0.08)
    assert added.weights == pytest.approx(anew.weights, abs=0.05)
