from __future__ import annotations

import numpy as np
import pytest

from benchmarks.user_counts import DEFINITIONS, makespan

_HALVES = np.array([[8.0, 4.0, 3.0, 2.5]])  # areas 8, 8, 9, 10
_STALLS = np.array([[8.0, 7.0, 6.0, 3.9]])  # areas 8, 14, 18, 15.6: half of the gain on four hosts, not on three


@pytest.mark.parametrize(
    ("definition", "counts"),
    [
        ("fewest host-seconds (fcfs-calculated)", (2, 1)),
        ("fastest", (4, 4)),
        ("fastest at half efficiency", (4, 4)),
        ("one host for everybody", (1, 1)),
    ],
)
def test_counts_are_what_their_name_says(definition: str, counts: tuple[int, int]) -> None:
    assert tuple(int(DEFINITIONS[definition](each)[0]) for each in (_HALVES, _STALLS)) == counts


def test_half_efficiency_is_not_given_up_for_speed() -> None:
    assert DEFINITIONS["fastest at half efficiency"](np.array([[8.0, 7.0, 6.0, 5.0]])).tolist() == [2]


def test_everybody_on_one_host_is_the_strongest_where_wide_tasks_would_wait_for_each_other() -> None:
    ends = {definition: makespan(definition, 1, 7) for definition in DEFINITIONS}
    assert min(ends, key=ends.__getitem__) == "one host for everybody"
