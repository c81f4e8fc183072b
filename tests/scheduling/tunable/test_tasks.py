from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.decoding.holes import Hole, Holes
from cosched.scheduling.tunable.tasks import Chain, Stage, StageChoice, TunableTask, admit, chains

INF = float("inf")


def test_the_worked_example_of_the_paper() -> None:
    """Fig. 5: eight processors, two ways through each job, four arrivals; the holes left are worked out by hand."""
    one = Chain((Stage(5, 10.0, 30.0), Stage(2, 15.0, 60.0)))
    other = Chain((Stage(3, 15.0, 30.0), Stage(7, 5.0, 60.0)))
    holes = Holes([0.0] * 8)
    found = []
    for name, arrival in (("J1", 0.0), ("J2", 4.0), ("J3", 10.0), ("J4", 17.0)):
        holes.forget(arrival)
        placement = admit(holes, TunableTask(name, arrival, (one, other)))
        assert placement is not None
        found.append((placement.chain, placement.starts, placement.end))
        if name == "J1":
            assert holes.maximal == [Hole(0.0, 15.0, 5), Hole(0.0, INF, 1), Hole(20.0, INF, 8)]
    assert found == [
        (1, (0.0, 15.0), 20.0),  # s2: s1 would end at 25
        (0, (4.0, 20.0), 35.0),  # s1: s2 would end at 40
        (1, (20.0, 35.0), 40.0),  # s2: s1 would end at 45
        (1, (20.0, 40.0), 45.0),  # s2: s1 has no hole before its first deadline
    ]
    assert holes.maximal == [Hole(17.0, 20.0, 1), Hole(35.0, INF, 1), Hole(45.0, INF, 8)]


def test_the_last_job_of_the_example_would_be_refused_without_its_second_way() -> None:
    one = Chain((Stage(5, 10.0, 30.0), Stage(2, 15.0, 60.0)))
    holes = Holes([0.0] * 8)
    for hosts, begin, end in ((3, 0, 15), (7, 15, 20), (5, 4, 14), (2, 20, 35), (3, 20, 35), (7, 35, 40)):
        holes.take(hosts, begin, end)
    before = list(holes.maximal)
    assert admit(holes, TunableTask("J4", 17.0, (one,))) is None
    assert holes.maximal == before


def test_a_better_quality_comes_before_an_earlier_end() -> None:
    coarse, fine = Chain((Stage(1, 2.0, 10.0, 0.5),)), Chain((Stage(1, 8.0, 10.0, 1.0),))
    placement = admit(Holes([0.0]), TunableTask("t", 0.0, (coarse, fine)))
    assert placement is not None
    assert placement.chain == 1
    late = admit(Holes([5.0]), TunableTask("t", 0.0, (coarse, fine)))
    assert late is not None
    assert late.chain == 0


def test_of_equal_ends_the_chain_that_needs_less_at_first_is_taken() -> None:
    wide_first, wide_last = (Chain((Stage(a, 2.0), Stage(b, 2.0))) for a, b in ((3, 1), (1, 3)))
    placement = admit(Holes([0.0] * 4), TunableTask("t", 0.0, (wide_first, wide_last)))
    assert placement is not None
    assert placement.chain == 1


def test_a_deadline_that_sums_meet_on_paper_is_met() -> None:
    chain = Chain((Stage(1, 0.1), Stage(1, 0.2, deadline=0.3)))  # 0.1 + 0.2 is more than 0.3 in binary numbers
    placement = admit(Holes([0.0]), TunableTask("t", 0.0, (chain,)))
    assert placement is not None
    assert placement.end == pytest.approx(0.3)
    late = Chain((Stage(1, 0.1), Stage(1, 0.2001, deadline=0.3)))
    assert admit(Holes([0.0]), TunableTask("t", 0.0, (late,))) is None


def test_the_quality_of_a_chain_is_the_product_of_its_stages() -> None:
    assert Chain((Stage(1, 1.0, INF, 0.5), Stage(1, 1.0, INF, 0.5))).quality == 0.25


def test_every_way_through_choices_within_choices_is_a_chain() -> None:
    a, b, c, d, e = (Stage(1, float(seconds)) for seconds in range(1, 6))
    graph = (a, StageChoice(((b,), (c, StageChoice(((d,), (e,)))))), a)
    assert [chain.stages for chain in chains(graph)] == [(a, b, a), (a, c, d, a), (a, c, e, a)]


def test_too_many_ways_are_refused_before_they_are_listed() -> None:
    either = StageChoice(((Stage(1, 1.0),), (Stage(2, 1.0),)))
    assert len(chains([either] * 9)) == 512
    with pytest.raises(UserError, match="more than 1000 ways"):
        chains([either] * 60)


stages = st.builds(Stage, st.integers(1, 4), st.integers(1, 5).map(float), st.sampled_from([6.0, 12.0, INF]))
tasks = st.lists(
    st.tuples(st.integers(0, 10), st.lists(st.lists(stages, min_size=1, max_size=3), min_size=1, max_size=3)),
    max_size=8,
)


@given(tasks)
def test_no_other_chain_of_the_same_quality_would_have_ended_earlier(
    drawn: list[tuple[int, list[list[Stage]]]],
) -> None:
    holes = Holes([0.0] * 4)
    for arrival, ways in sorted(drawn, key=lambda item: item[0]):
        task = TunableTask("t", float(arrival), tuple(Chain(tuple(way)) for way in ways))
        ends = []
        for chain in task.chains:
            ready = task.release
            for stage in chain.stages:
                ready = holes.earliest(stage.hosts, stage.seconds, ready) + stage.seconds
                if ready > task.release + stage.deadline:
                    break
            else:
                ends.append(ready)
        placement = admit(holes, task)
        assert (placement is None) == (not ends)
        assert placement is None or placement.end == min(ends)
