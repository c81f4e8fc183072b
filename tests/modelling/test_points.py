from __future__ import annotations

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.modelling.points import TimedRun, check_design, points_of, repeat_noise
from tests.modelling.makers import stencil_runs


def runs(*places: tuple[float, float], counts: tuple[int, ...] = (1,)) -> list[TimedRun]:
    return [TimedRun({"nx": nx, "ny": ny}, count, nx * ny / count) for nx, ny in places for count in counts]


def test_runs_at_one_point_count_by_their_median() -> None:
    found = points_of([TimedRun({"n": 4}, 2, seconds) for seconds in (3.0, 1.0, 2.0)] + [TimedRun({"n": 2}, 1, 9.0)])
    assert found.values.tolist() == [[2.0], [4.0]]
    assert found.seconds.tolist() == [9.0, 2.0]
    assert found.counts.tolist() == [1, 3]
    assert found.sizes.tolist() == [0, 1]
    assert found.processors_vary


def test_only_what_varies_varies() -> None:
    found = points_of(stencil_runs())
    assert [found.names[place] for place in found.varying] == ["nx", "ny"]
    assert len(found.where(found.processors == 2)) == len(found) / 3


def test_noise_is_how_far_repeats_differ() -> None:
    noise = repeat_noise(stencil_runs(noise=0.03, repeats=9))
    assert noise is not None
    assert 0.02 < noise < 0.035
    assert repeat_noise(stencil_runs(repeats=1)) is None


@pytest.mark.parametrize(
    ("some", "said"),
    [
        (runs((4, 4), counts=(1, 2, 4)), "all runs have one size: .*a constant model was not written"),
        (runs((2, 3), (4, 5), (8, 3)), "3 sizes are fewer than the terms of 2 parameters that vary .*at least 4"),
        (
            runs((2, 2), (4, 4), (8, 8), (16, 16)),
            "nx and ny vary together: .* run nx = 8 with ny = 2, or leave ny out",
        ),
        (runs((0, 2), (4, 4), (8, 3), (16, 16)), "nx varies and is 0 in a run"),
        (
            [TimedRun({"n": count}, count, 1.0) for count in (1, 2, 4, 8)],
            "n and the number of processors vary together",
        ),
        (
            [TimedRun({"a": a, "b": b, "c": a * b}, 1, 1.0) for a in (1, 2, 4) for b in (1, 3, 9)],
            "a, b and c vary together: .*in which a alone changes",
        ),
        (
            [TimedRun(dict(zip("abcdefg", row, strict=True)), 1, 1.0) for row in np.eye(7) + 1],
            "7 parameters vary .a, b.*name the 6 that count most with --parameters",
        ),
    ],
)
def test_runs_that_teach_nothing_are_refused(some: list[TimedRun], said: str) -> None:
    with pytest.raises(UserError, match=said):
        check_design(points_of(some))


def test_all_runs_state_the_same_parameters() -> None:
    with pytest.raises(UserError, match="not all runs state m"):
        points_of([TimedRun({"n": 1}, 1, 1.0), TimedRun({"n": 2, "m": 1}, 1, 1.0)])


def test_of_very_many_points_some_from_all_are_kept() -> None:
    many = points_of([TimedRun({"n": n}, 1, float(n)) for n in range(1, 2001)])
    few = many.thinned()
    assert len(few) == 400
    assert (few.seconds[0], few.seconds[-1]) == (1, 2000)
    assert few.thinned() is few
    assert sorted(set(many.folds.tolist())) == list(range(24))
    assert (points_of(stencil_runs()).folds == points_of(stencil_runs()).sizes).all()
