from __future__ import annotations

from dataclasses import replace

from cosched.api.documents import ChainView, StageView, WayView
from cosched.cli.task.chains import chain_lines, chain_text, way_lines

STAGE = StageView(name="examine.1", hosts=2, seconds=90.0)
WAY = WayView(way=0, quality=0.9, control={"granularity": 16.0}, stages=(STAGE,), end=1_700_000_000.0)
CHAIN = ChainView(
    first="17",
    tasks=("17", "18"),
    index=1,
    name="detect",
    deadline=None,
    guaranteed=True,
    quality=0.9,
    least_quality=0.8,
    ways=(WAY,),
)


def test_a_way_is_a_line_with_quality_hosts_times_and_end() -> None:
    (line,) = way_lines([WAY])
    assert line.startswith("way:           quality 0.9; granularity=16; examine.1 ")
    assert " on 2 hosts; would end 2023-11" in line


def test_what_is_wrong_with_a_way_is_told() -> None:
    late = replace(WAY, late=5.0)
    texts = way_lines(
        [
            late,
            replace(late, late_stage="examine.1"),
            replace(WAY, end=None),
            replace(WAY, end=None, open=False),
            replace(WAY, end=None, chosen=True),
        ]
    )
    assert texts[0].endswith("5.0 s late")
    assert texts[1].endswith("its stage examine.1 too late by 5.0 s")
    assert texts[2].endswith("cannot run now")
    assert texts[3].endswith("closed: a stage has left in which it differs")
    assert texts[4].startswith("way taken:")


def test_of_many_ways_the_first_are_named() -> None:
    assert way_lines([replace(WAY, quality=1 / each) for each in range(1, 13)])[-1] == "               and 2 more ways"


def test_ways_that_differ_in_other_stages_are_shown_once() -> None:
    closed = replace(WAY, end=None, open=False)
    assert len(way_lines([WAY, closed, replace(closed, way=1), replace(closed, way=2, quality=0.5)])) == 3


def test_a_chain_says_which_stage_it_is_and_what_is_guaranteed() -> None:
    assert chain_text(CHAIN) == (
        "2 of 2 of detect (tasks 17 to 18), quality 0.9; its deadlines are guaranteed with a quality of at least 0.8"
    )
    assert chain_text(replace(CHAIN, guaranteed=False)) == "2 of 2 of detect (tasks 17 to 18), quality 0.9"
    assert len(chain_lines(CHAIN)) == 2
