from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.modelling.fitting import fit_runs
from cosched.modelling.points import TimedRun
from cosched.modelling.validation import Foretold, judged, read_seen
from tests.modelling.makers import stencil_runs

BOX = read_seen("nx 64 1024, ny 10 20, steps 5 5, Nproc 1 2", "heat.psl")


@pytest.mark.parametrize(
    ("nx", "ny", "steps", "count", "split"),
    [
        (100, 15, 5, 1, "inside"),
        (64, 15, 5, 2, "ends"),
        (100, 20, 5, 2, "ends"),
        (2048, 15, 5, 1, "2x"),
        (2048, 40, 5, 1, "4x"),
        (32, 15, 5, 1, "2x"),
        (1024, 81, 5, 1, "farther"),
        (0, 15, 5, 1, "farther"),
        (100, 15, 10, 1, "2x"),
        (100, 15, 5, 4, "new host count"),
    ],
)
def test_runs_are_split_by_what_was_seen(nx: float, ny: float, steps: float, count: int, split: str) -> None:
    assert BOX.split(TimedRun({"nx": nx, "ny": ny, "steps": steps}, count, 1.0)) == split


def test_what_fit_writes_is_read() -> None:
    fitted = fit_runs("heat", stencil_runs())
    assert read_seen(fitted.seen.text(), "heat.psl").limits["nx"] == (64, 1024)
    for text in ("nx 1", "nx a b", "Nproc x", "", ","):
        with pytest.raises(UserError, match=r"heat.psl: its option seen, .* was changed"):
            read_seen(text, "heat.psl")


def test_errors_are_parts_of_measured_times() -> None:
    runs = [TimedRun({"n": n}, 1, 2.0) for n in (1, 2, 3, 4)]
    foretold = [
        Foretold(run, seconds, seconds * 0.9, seconds * 1.1)
        for run, seconds in zip(runs, (2.0, 2.1, 1.9, 3.0), strict=True)
    ]
    found = judged("inside", foretold)
    assert (found.runs, found.points) == (4, 4)
    assert (found.mean, found.median, found.worst) == pytest.approx((0.15, 0.05, 0.5))
    assert (found.bias, found.coverage, found.width) == pytest.approx((0.125, 0.75, 1.1 / 0.9))
    assert found.other is None
    assert not found.too_small  # three of four may be chance


def test_too_small_an_error_is_seen_once_it_is_sure() -> None:
    def off(count: int, points: int) -> bool:
        runs = [TimedRun({"n": place % points}, 1, 2.0) for place in range(count)]
        return judged("all", [Foretold(run, 1.0, 0.9, 1.1) for run in runs]).too_small

    assert off(2, 2)
    assert not off(9, 1)  # runs at one point err alike


def test_thousands_of_runs_are_judged() -> None:
    runs = [TimedRun({"n": n}, 1, 1.0 if n % 10 else 2.0) for n in range(5000)]
    foretold = [Foretold(run, 1.0, 0.9, 1.1) for run in runs]
    assert not judged("all", foretold).too_small
    assert judged("all", [each._replace(high=0.95) for each in foretold[:4500]]).too_small
