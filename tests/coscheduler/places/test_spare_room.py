"""Room on shared hosts: what fits and until when, and for whom it is kept."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.places.spare_room import PlannedShare, SpareRoom, kept_for
from tests.coscheduler.makers import a_task, dispatched, settings, start, submit

SIZE = HostShare(0, 8, 4)
SIZES = {"n1": SIZE, "n2": SIZE}
FREE = {"n1": HostShare(0, 6, 4), "n2": HostShare(0, 1, 4)}


def planned(task: str, host: str, first: float, cores: int, gpus: int = 0) -> PlannedShare:
    return PlannedShare(task, host, first, first + 10.0, HostShare(0, cores, gpus))


def test_the_first_task_that_would_find_too_little_is_named() -> None:
    others = [planned("3", "n1", 5.0, 4), planned("2", "n1", 3.0, 4), planned("1", "n1", 1.0, 1)]
    running = [("n1", 20.0, HostShare(0, 2, 0))]
    found = kept_for(HostShare(0, 2, 0), 8.0, FREE, SpareRoom(SIZES, running, others))
    assert found is not None
    assert found.task == "2"  # 2 that run, 1, 4 and 2 cores; with the first alone there are 5


@pytest.mark.parametrize(
    ("share", "seconds"),
    [
        (HostShare(0, 2, 0), 3.0),  # it would have ended by then
        (HostShare(0, 1, 0), 8.0),  # there is room beside
        (HostShare(0, 7, 0), 8.0),  # nobody has so much now
        (HostShare(0, 1, 4), 8.0),  # the GPUs of another host are nobody's
    ],
)
def test_where_no_room_is_kept_nobody_is_named(share: HostShare, seconds: float) -> None:
    running = [("n1", 20.0, HostShare(0, 2, 0))]
    others = [planned("2", "n1", 3.0, 5, gpus=1)]
    assert kept_for(share, seconds, FREE, SpareRoom(SIZES, running, others)) is None


def test_of_several_hosts_that_which_is_kept_latest_is_named() -> None:
    free = {"n1": HostShare(0, 6, 4), "n2": HostShare(0, 6, 4)}
    others = [planned("2", "n1", 3.0, 8), planned("3", "n2", 5.0, 8)]
    found = kept_for(HostShare(0, 2, 0), 8.0, free, SpareRoom(SIZES, [], others))
    assert found is not None
    assert (found.task, found.host) == ("3", "n2")


def test_a_share_fits_until_a_planned_task_would_find_too_little() -> None:
    room = SpareRoom(SIZES, [("n1", 4.0, HostShare(0, 6, 0))], [planned("1", "n1", 9.0, 5), planned("2", "n2", 3.0, 8)])
    assert room.until("n1", HostShare(0, 2, 0)) == math.inf
    assert room.until("n1", HostShare(0, 3, 0)) == 0.0  # 6 of 8 cores are held
    assert room.until("n2", HostShare(0, 1, 0)) == 3.0
    room.take("n1", HostShare(0, 2, 0))
    assert room.until("n1", HostShare(0, 1, 0)) == 0.0
    assert room.conflict("n1", HostShare(0, 1, 0)) is None  # what is planned finds enough beside
    room.plan(planned("3", "n1", 12.0, 2))
    found = room.conflict("n1", HostShare())
    assert found is not None
    assert found.task == "3"
    assert room.until("elsewhere", HostShare(0, 1, 0)) == 0.0


def test_several_places_of_one_host_are_free_for_different_times() -> None:
    room = SpareRoom(
        SIZES, [("n1", 50.0, HostShare(0, 1, 0))], [planned("1", "n1", 5.0, 4), planned("2", "n1", 6.0, 2)]
    )
    assert room.places("n1", HostShare(0, 2, 0), 9) == [6.0, 5.0, 5.0]
    assert room.places("n1", HostShare(0, 1, 0), 2) == [math.inf, 6.0]
    assert room.places("n2", HostShare(0, 3, 2), 9) == [math.inf, math.inf]  # its GPUs bind
    assert room.places("n1", HostShare(0, 8, 0), 9) == []


_CORES = st.integers(1, 8)
_WHEN = st.integers(0, 12).map(float)


@given(
    held=st.lists(st.tuples(_WHEN, _CORES), max_size=2),
    others=st.lists(st.tuples(_WHEN, st.integers(1, 6).map(float), _CORES), max_size=5),
    cores=_CORES,
    most=st.integers(1, 4),
)
def test_places_are_those_that_fit_beside_at_every_time(
    held: list[tuple[float, int]], others: list[tuple[float, float, int]], cores: int, most: int
) -> None:
    """Compared with what is in use at every half second."""
    running = [("n1", until, HostShare(0, taken, 0)) for until, taken in held]
    plans = [
        PlannedShare(str(n), "n1", begin, begin + length, HostShare(0, c, 0))
        for n, (begin, length, c) in enumerate(others)
    ]
    found = SpareRoom(SIZES, running, plans).places("n1", HostShare(0, cores, 0), most)

    def in_use(time: float) -> int:
        return sum(taken for until, taken in held if time < until or time == 0.0 == until) + sum(
            c for begin, length, c in others if begin <= time < begin + length
        )

    for number in range(1, most + 1):
        full = [half / 2 for half in range(50) if in_use(half / 2) + number * cores > 8]
        first = min(full, default=math.inf)
        assert (found[number - 1] if number <= len(found) else 0.0) == first


def test_an_explanation_names_for_whom_the_room_is_kept() -> None:
    """A task whose GPUs were free waited, and was told nothing of what it lacked."""
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, (Host("node01", memory=16000, cores=8, gpus=4),)))
    (first,) = dispatched(submit(core, a_task(1, [20.0], cores=4)))
    start(core, first, 0.0)
    submit(core, a_task(2, [40.0], cores=8))
    submit(core, a_task(3, [30.0], cores=2, memory=4000, gpus=1))
    found = explain(core, "3", 0.0)
    assert found is not None
    assert found.waits_for[0] == (
        "2 cores, 4000M of memory and 1 GPU that node01 has now, but not for long enough: "
        "2 (t2, queued) is to start there in 20 s"
    )
