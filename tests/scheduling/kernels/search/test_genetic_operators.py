from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.kernels.search import genetic_operators

SEEDS = st.integers(1, 2**64 - 1)


def a_state(seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([seed], dtype=np.uint64)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 9), st.integers(1, 5))
def test_children_are_permutations_with_their_parents_counts(seed: int, tasks: int, individuals: int) -> None:
    draw = np.random.default_rng(seed)
    orders = np.array([draw.permutation(tasks) for _ in range(individuals)])
    counts = draw.integers(1, 99, size=(individuals, tasks))
    child_orders, child_counts = np.full_like(orders, -1), np.full_like(counts, -1)
    genetic_operators.crossover(a_state(seed), 1.0, individuals, orders, counts, child_orders, child_counts)
    for order in child_orders.tolist():
        assert sorted(order) == list(range(tasks))
    assert all(child_counts[child, task] in counts[:, task] for child in range(individuals) for task in range(tasks))


@settings(deadline=None)
@given(SEEDS, st.lists(st.sets(st.integers(1, 9), min_size=1), min_size=1, max_size=8))
def test_mutants_are_permutations_with_useful_counts(seed: int, useful: list[set[int]]) -> None:
    widths = np.array([width for row in useful for width in sorted(row)], dtype=np.int64)
    first = np.cumsum([0, *[len(row) for row in useful]], dtype=np.int64)
    orders = np.tile(np.arange(len(useful), dtype=np.int64), (20, 1))
    counts = np.tile(np.array([min(row) for row in useful], dtype=np.int64), (20, 1))
    genetic_operators.mutate(a_state(seed), widths, first, orders, counts)
    for order in orders.tolist():
        assert sorted(order) == list(range(len(useful)))
    assert all(count in row for mutant in counts.tolist() for count, row in zip(mutant, useful, strict=True))


def test_every_kind_of_change_happens() -> None:
    orders, counts = np.tile(np.arange(4), (3000, 1)), np.ones((3000, 4), dtype=np.int64)
    genetic_operators.mutate(a_state(7), np.array([1, 2, 5] * 4), np.array([0, 3, 6, 9, 12]), orders, counts)
    assert len({tuple(order) for order in orders.tolist()}) == 24
    assert set(counts.ravel().tolist()) == {1, 2, 5}


def test_a_child_takes_its_parents_place_unless_it_is_worse() -> None:
    orders, counts, costs = np.zeros((3, 1), dtype=np.int64), np.array([[1], [2], [3]]), np.array([5.0, 5.0, 5.0])
    best = genetic_operators.replace_parents(
        orders, counts, costs, orders.copy(), counts + 10, np.array([6.0, 5.0, 4.0])
    )
    assert (best, counts.ravel().tolist(), costs.tolist()) == (2, [1, 12, 13], [5.0, 5.0, 4.0])
