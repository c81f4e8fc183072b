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
    from collections.abc import Sequence

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
        assert high / low > (1 + fitted.error_beyond) ** 2
        assert fitted.predict(beyond, count) == pytest.approx(stencil(beyond["nx"], beyond["ny"], count), rel=0.1)


def test_an_error_grows_with_what_nobody_has_seen() -> None:
    fitted = fitted_stencil()
    errors = [fitted.error_at({"nx": 512, "ny": ny}, 1) for ny in (1024, 1025, 2048, 4096)]
    assert errors == sorted(set(errors))
    assert errors[:2] == [fitted.error, pytest.approx(fitted.error_beyond, rel=1e-6)]
    longer = fitted.error_at({"nx": 1024, "ny": 1024}, 1)
    assert longer == pytest.approx(fitted.error, rel=0.05)
    far, farther = (fitted.error_at({"nx": 512, "ny": 512}, count) for count in (16, 256))
    assert fitted.error_beyond < far < farther


# Runs of programs of which few sizes are known; the last of each is the number of processors, then come the seconds.
HARDLY_VARIED = (
    *((20, 12, 46, 1, 0.420), (26, 6, 59, 1, 0.123), (26, 9, 48, 1, 0.298), (26, 9, 48, 2, 0.192)),
    *(
        (37, 6, 58, 1, 0.188),
        (37, 6, 58, 2, 0.107),
        (37, 6, 58, 2, 0.112),
        (37, 6, 58, 2, 0.115),
        (79, 6, 60, 1, 0.504),
    ),
)
FEW_SIZES = (
    *((28, 135, 27, 1, 0.0480), (59, 100, 54, 1, 0.1216), (59, 100, 54, 2, 0.0733), (223, 34, 60, 1, 0.0915)),
    *((223, 34, 60, 2, 0.0641), (1193, 29, 7, 1, 0.0534), (1193, 29, 7, 2, 0.0446), (1673, 9, 41, 2, 0.0504)),
)


def sizes_of(n: float, m: float, steps: float) -> dict[str, float]:
    return {"n": n, "m": m, "steps": steps}


def fitted_to(rows: Sequence[tuple[float, ...]]) -> Fitted:
    return fit_runs("p", [TimedRun(sizes_of(*row[:3]), int(row[3]), row[4]) for row in rows])


def test_run_times_grow_with_a_parameter_that_hardly_varied() -> None:
    """The law of 46 to 60 steps left the steps out, so that 14 were foretold to take 2.9 times as long as they did."""
    fitted = fitted_to(HARDLY_VARIED)
    assert fitted.predict(sizes_of(93, 10, 14), 1) < 1.6 * 0.788
    assert fitted.predict(sizes_of(93, 10, 14), 2) < 1.6 * 0.481


def test_few_sizes_make_no_law_of_high_powers() -> None:
    """A start-up and n² m³ steps² fitted five sizes to 9 %, and foretold 2 to 7 times the time of larger ones."""
    fitted = fitted_to(FEW_SIZES)
    for size, processors, seconds in (
        ((1305, 42, 37), 1, 0.375),
        ((1310, 190, 7), 1, 0.607),
        ((3899, 46, 9), 2, 0.214),
    ):
        assert fitted.predict(sizes_of(*size), processors) == pytest.approx(seconds, rel=0.5)


def test_the_exponent_of_a_parameter_that_hardly_varied_is_not_known() -> None:
    """Of 14 steps a law of 46 to 60 said that it was within 26 %, three times too long."""
    fitted = fitted_to(HARDLY_VARIED)
    assert fitted.unsure["steps"] > 1.0 > fitted.unsure["n"]
    low, high = fitted.interval(sizes_of(37, 6, 14), 1)
    near_low, near_high = fitted.interval(sizes_of(90, 6, 58), 1)
    assert high / low > 5 * near_high / near_low
    wish = "Between steps = 46 and 60 it hardly shows how the run time grows with it: run steps=11"
    assert wish in fitted.wishes()


def test_runs_longer_than_all_seen_are_less_sure_though_each_parameter_was_seen() -> None:
    """Where sizes are long or wide but never both, one that is both was said to be as sure as they."""
    sizes = [(100, 10), (10, 100), (32, 32), (60, 16), (16, 60), (20, 25), (80, 8)]
    fitted = fit_runs("p", [TimedRun({"n": n, "m": m}, 1, 1e-6 * n * m) for n, m in sizes])
    seen, longer, longest = (fitted.error_at({"n": side, "m": side}, 1) for side in (31, 60, 100))
    assert seen == pytest.approx(fitted.error)
    assert fitted.inside({"n": 100, "m": 100}, 1)
    assert 3 * seen < longer < longest < 1.5


def test_larger_sizes_that_the_smaller_do_not_foretell_widen_the_error() -> None:
    def cached(nx: float, ny: float, count: float) -> float:
        return stencil(nx, ny, count) * (1 + 3 * max(0.0, 1 - 2e5 / (nx * ny)))

    assert fit_runs("heat", stencil_runs(law=cached)).error_beyond > 0.5


def test_run_times_in_whole_seconds_may_be_the_same() -> None:
    runs = [TimedRun({"n": n}, 1, 9.0 if n == 100 else 10.0) for n in range(100, 800, 100)]
    fitted = fit_runs("a", runs)
    assert fitted.predict({"n": 400}, 1) == pytest.approx(10, rel=0.1)


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
