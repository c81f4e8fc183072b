"""Sends of all ranks are recognised as the moves that made them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.modelling.derivation.patterns import (
    FROM_ROOT,
    GRID,
    LINE,
    RING,
    TO_ALL,
    TO_ROOT,
    Move,
    grid_sides,
    matched_moves,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

PROCESSES = (2, 3, 4, 6)
BOTH = (1, -1)
SINGLE = [
    *(Move(shape, sign) for shape in (LINE, RING) for sign in BOTH),
    *(Move(shape) for shape in (TO_ALL, TO_ROOT, FROM_ROOT)),
    *(Move(GRID, sign, side, "npe_j") for side in ("npe_i", "npe_j") for sign in BOTH),
]


def sent(moves: Sequence[Move], messages: int, processes: Sequence[int]) -> list[tuple[int, Counter[tuple[int, int]]]]:
    return [
        (each, Counter({pair: messages * each for move in moves for pair in move.pairs(each)})) for each in processes
    ]


@given(st.sampled_from(SINGLE), st.integers(1, 1000))
def test_a_move_is_recognised_with_its_messages(move: Move, messages: int) -> None:
    runs = sent([move], messages, PROCESSES)
    wanted = [messages * processes if counts else 0 for processes, counts in runs]
    assert matched_moves(runs) == [(move, wanted)]


@pytest.mark.parametrize(
    "moves",
    [
        [Move(LINE, 1), Move(LINE, -1)],
        [Move(GRID, sign, side, inner) for inner in ("npe_j", "npe_i") for side in ("npe_i", "npe_j") for sign in BOTH][
            :4
        ],
        [Move(GRID, 1, side, "npe_i") for side in ("npe_i", "npe_j")],
    ],
)
def test_moves_of_one_place_are_told_apart(moves: Sequence[Move]) -> None:
    found = matched_moves(sent(moves, 5, (*PROCESSES, 8, 12)))
    assert found is not None
    assert {move for move, _messages in found} == set(moves)


def test_other_sends_are_not_recognised() -> None:
    assert matched_moves([(4, Counter({(0, 2): 3, (2, 1): 3}))]) is None
    assert matched_moves([(3, Counter({(0, 1): 3, (1, 1): 4}))]) is None  # one sends more often


def test_two_processes_are_a_line() -> None:
    assert matched_moves([(2, Counter({(0, 1): 3, (1, -1): 3}))]) == [(Move(LINE, 1), [3]), (Move(LINE, -1), [3])]


def test_sides_of_a_grid_are_those_that_models_decompose() -> None:
    assert grid_sides(12) == {"npe_i": 4, "npe_j": 3}
