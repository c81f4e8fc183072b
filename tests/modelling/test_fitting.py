from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.modelling.fitting import fit_runs, samples_digest
from cosched.modelling.points import TimedRun
from tests.modelling.makers import stencil, stencil_runs

if TYPE_CHECKING:
    from cosched.modelling.fitting import Fitted

pytestmark = pytest.mark.xdist_group("fitted-stencil")  # it is fitted once


@cache
def fitted_stencil() -> Fitted:
    """Fit the runs that most tests take, once in a process."""
    return fit_runs("heat", stencil_runs())


def test_new_runs_are_within_the_stated_error() -> None:
    fitted = fit_runs("heat", stencil_runs(noise=0.03, seed=4))
    new = stencil_runs(noise=0.03, seed=5, sides=(90, 180, 350, 700, 900), counts=(1, 2, 3))
    held = [run.seconds for run in new]
    ranges = [fitted.interval(run.parameters, run.processors) for run in new]
    covered = np.mean([low <= seconds <= high for seconds, (low, high) in zip(held, ranges, strict=True)])
    assert 0.85 < covered <= 1
    assert 0.04 < fitted.error < 0.09
    assert all(fitted.inside(run.parameters, run.processors) for run in new)


def test_what_was_not_seen_has_a_wider_error() -> None:
    fitted = fitted_stencil()
    assert fitted.error_beyond >= 0.25 > fitted.error
    for beyond, count in (({"nx": 4000, "ny": 64}, 1), ({"nx": 64, "ny": 64}, 8)):
        low, high = fitted.interval(beyond, count)
        assert not fitted.inside(beyond, count)
        assert high / low == pytest.approx((1 + fitted.error_beyond) ** 2)
        assert fitted.predict(beyond, count) == pytest.approx(stencil(beyond["nx"], beyond["ny"], count), rel=0.1)


def test_larger_sizes_that_the_smaller_do_not_foretell_widen_the_error() -> None:
    def cached(nx: float, ny: float, count: float) -> float:
        return stencil(nx, ny, count) * (1 + 3 * max(0.0, 1 - 2e5 / (nx * ny)))

    assert fit_runs("heat", stencil_runs(law=cached)).error_beyond > 0.5


def test_limits_are_four_times_what_was_seen() -> None:
    seen = fitted_stencil().seen
    assert seen.limits("nx") == (16, 4096)
    assert seen.limits("steps") == (20, 20)
    assert seen.text() == "nx 64 1024, ny 64 1024, steps 20 20, Nproc 1 2 4"
    fine = [TimedRun({"x": value}, 1, value) for value in (0.5, 1.0, 2.0, 3.0)]
    assert fit_runs("p", fine).seen.limits("x") == (0.125, 12)


def test_it_says_what_to_run_next() -> None:
    (largest,) = fitted_stencil().wishes()
    assert largest == "Sizes above nx = 1024, ny = 1024 have not been seen: run nx=2048 next"
    first, gap, *_ = fit_runs("heat", stencil_runs(repeats=1, sides=(64, 80, 1024, 1100, 1200))).wishes()
    assert "run one again" in first
    assert gap == "Nothing between nx = 80 and 1024 has been seen: run nx=286"
    flat, *_ = fit_runs("heat", stencil_runs(0.3, law=lambda _nx, _ny, _count: 0.01)).wishes()
    assert flat == "The run time was not seen to grow with nx, ny by more than repeats differ: run larger sizes"
    alone = " ".join(fit_runs("heat", stencil_runs(counts=(2,))).wishes())
    assert "Only Nproc = 2 has been seen, and the model says nothing of others: run on 4" in alone


def test_runs_of_one_class_make_a_model() -> None:
    runs = stencil_runs()
    with pytest.raises(UserError, match=r"several classes of hosts \(unnamed, node_a\).*--class"):
        fit_runs("heat", [replace(runs[0], hardware="node_a"), *runs])
    with pytest.raises(UserError, match="there are no runs of heat"):
        fit_runs("heat", [])
    with pytest.raises(UserError, match="heat has no value of ny"):
        fitted_stencil().predict({"nx": 5}, 1)


def test_a_digest_names_the_runs() -> None:
    runs = stencil_runs()
    assert samples_digest(runs) == samples_digest(runs[::-1])
    assert samples_digest(runs) != samples_digest(runs[1:])


@pytest.mark.parametrize("repeats", [1, 3])
def test_nine_new_runs_in_ten_are_within_the_stated_error(repeats: int) -> None:
    held = []
    for seed in range(2):
        fitted = fit_runs("heat", stencil_runs(0.05, seed, repeats=repeats))
        for run in stencil_runs(0.05, seed + 100, sides=(80, 180, 350, 700, 900), repeats=1):
            off = run.seconds / fitted.predict(run.parameters, run.processors) - 1
            held.append(abs(off) <= fitted.error)
    assert 0.84 < np.mean(held) < 0.97
