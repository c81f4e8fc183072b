from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.kernels.search.fresh_choices_kernel import draw_choices


@settings(deadline=None)
@given(st.integers(1, 2**64 - 1), st.lists(st.lists(st.floats(1, 9), min_size=1, max_size=6), min_size=1, max_size=8))
def test_each_task_has_one_of_its_choices(seed: int, work: list[list[float]]) -> None:
    first = np.cumsum([0, *map(len, work)], dtype=np.int64)
    drawn = draw_choices(np.array([seed], dtype=np.uint64), np.concatenate(work), first, np.linspace(1, 80, 7))
    assert drawn.shape == (7, len(work))
    assert (drawn >= first[:-1]).all()
    assert (drawn < first[1:]).all()


def test_all_work_is_near_what_is_wanted() -> None:
    work, first = np.tile(np.arange(1.0, 5.0), 30), np.arange(0, 121, 4)
    wanted = np.linspace(40.0, 110.0, 36)
    drawn = draw_choices(np.array([7], dtype=np.uint64), work, first, wanted)
    assert np.abs(work[drawn].sum(axis=1) - wanted).max() <= 1.0
