from __future__ import annotations

from cosched.modelling.derivation.blocks import blocks_of
from cosched.modelling.derivation.counting import Place


def test_places_executed_equally_often_are_one_block() -> None:
    runs = [
        {Place(0, 1, 0, "main"): 1, Place(0, 3, 0, "work"): 10 * turn, Place(0, 4, 0, "work"): 10 * turn}
        | {Place(0, 9, 0, "work"): 10 * turn, Place(1, 2, 0, "help"): turn}
        for turn in (1, 2, 3)
    ]
    work, helping, once = blocks_of(runs)
    assert (work.name, work.counts, work.lines(["a.c", "b.c"])) == ("work_3", (10, 20, 30), "a.c:3-4,9")
    assert (helping.name, helping.lines(["a.c", "b.c"])) == ("help_2", "b.c:2")
    assert once.counts == (1, 1, 1)


def test_a_head_of_a_loop_counts_as_its_body() -> None:
    runs = [
        {Place(0, 5, 0, "work"): n + 1, Place(0, 5, 1, "work"): n, Place(0, 5, 2, "work"): 1, Place(0, 6, 0, "work"): n}
        for n in (4, 7, 9)
    ]
    (only,) = blocks_of(runs)
    assert only.counts == (4, 7, 9)
    assert only.numbers() == [(0, 5), (0, 6)]


def test_lines_that_are_never_reached_are_no_block() -> None:
    assert blocks_of([{Place(0, 1, 0, "main"): 0}, {}]) == []


def test_names_are_different() -> None:
    runs = [
        {Place(0, 5, 1, "f"): n, Place(0, 5, 2, "f"): 1, Place(0, 5, 3, "f"): n * n, Place(0, 5, 4, "f"): n}
        for n in (3, 4)
    ]
    assert [block.name for block in blocks_of([{**run, Place(0, 5, 0, "f"): 9} for run in runs])] == ["f_5", "f_5_2"]
