"""Room that is free now and kept for others is named with the task that it is kept for."""

from __future__ import annotations

import pytest

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved
from cosched.coscheduler.explain import explain
from cosched.coscheduler.places.kept_room import PlannedShare, kept_for
from tests.coscheduler.makers import a_task, dispatched, settings, start, submit

SIZE = HostShare(0, 8, 4)
SIZES = {"n1": SIZE, "n2": SIZE}
FREE = {"n1": HostShare(0, 6, 4), "n2": HostShare(0, 1, 4)}


def planned(task: str, host: str, first: float, cores: int, gpus: int = 0) -> PlannedShare:
    return PlannedShare(task, host, first, first + 10.0, HostShare(0, cores, gpus))


def test_the_first_task_that_would_find_too_little_is_named() -> None:
    others = [planned("3", "n1", 5.0, 4), planned("2", "n1", 3.0, 4), planned("1", "n1", 1.0, 1)]
    running = [("n1", 20.0, HostShare(0, 2, 0))]
    found = kept_for(HostShare(0, 2, 0), 8.0, FREE, SIZES, running, others)
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
    assert kept_for(share, seconds, FREE, SIZES, running, others) is None


def test_of_several_hosts_that_which_is_kept_latest_is_named() -> None:
    free = {"n1": HostShare(0, 6, 4), "n2": HostShare(0, 6, 4)}
    others = [planned("2", "n1", 3.0, 8), planned("3", "n2", 5.0, 8)]
    found = kept_for(HostShare(0, 2, 0), 8.0, free, SIZES, [], others)
    assert found is not None
    assert (found.task, found.host) == ("3", "n2")


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
