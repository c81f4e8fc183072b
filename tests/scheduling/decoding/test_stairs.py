"""Stairs say what is free for good of a host's resources, whoever computes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.stairs import first_stair, first_stairs

HELD = st.lists(st.tuples(st.integers(0, 6).map(float), st.tuples(*[st.integers(0, 5)] * 3)), max_size=8)


@given(st.integers(0, 6).map(float), st.tuples(*[st.integers(0, 16)] * 3), HELD)
def test_stairs_of_all_resources_are_those_of_each(
    begin: float, capacity: tuple[int, ...], held: list[tuple[float, tuple[int, ...]]]
) -> None:
    """Hosts may be overfilled in fact, where the manager or others took more than there is."""
    found = first_stairs(begin, capacity, sorted(held))
    for number, total in enumerate(capacity):
        alone = first_stair(begin, total, [(until, amounts[number]) for until, amounts in held])
        assert (found[number].times, found[number].amounts) == (alone.times, alone.amounts)


def test_what_runs_is_given_back_when_it_ends() -> None:
    cores, gpus = first_stairs(1.0, [8, 2], [(0.5, [4, 1]), (2.0, [3, 0]), (2.0, [2, 2]), (5.0, [1, 0])])
    assert (cores.times, cores.amounts) == ([1.0, 2.0, 5.0], [2, 7, 8])
    assert (gpus.times, gpus.amounts) == ([2.0], [2])
