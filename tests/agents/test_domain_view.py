from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.agents.domain_view import DomainView
from cosched.agents.protocol.advertisement import AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letter_xml import read_letter, write_letter
from cosched.agents.protocol.letters import Advertisement, Letter
from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, TaskSubmitted
from tests.agents.makers import INSTANCE, NOW, a_task
from tests.tasks import change_task


def a_core(staging: float = 0.0) -> Coscheduler:
    """Return one of two hosts, the first of which is busy for 40 s."""
    core = Coscheduler(CoreSettings(INSTANCE, staging=staging))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2"))))
    core.handle(TaskSubmitted(NOW, a_task(deadline=None)))
    return core


def test_free_hosts_over_time_are_told_by_class() -> None:
    (found,) = DomainView(a_core(), "fast").classes(NOW, ())
    assert found.hardware == "fast"
    assert found.free == (AvailabilityStep(0.0, 1), AvailabilityStep(40.0, 2))
    (booked,) = DomainView(a_core(), "fast").classes(NOW, (a_task(9, None, 25.0),))
    assert booked.free == (AvailabilityStep(25.0, 1), AvailabilityStep(40.0, 2))


@pytest.mark.parametrize("shared", [False, True])
def test_no_queue_is_so_long_that_no_letter_holds_it(*, shared: bool) -> None:
    core = Coscheduler(CoreSettings(INSTANCE, staging=0.0, share_hosts=shared))
    core.handle(HostsObserved(NOW, (Host("h1", cores=1),)))
    for number in range(1, 14):  # of ten years each
        core.handle(TaskSubmitted(NOW, a_task(number, None, 315360000.0)))
    service = AdvertisedService("north", 0.0, 0, DomainView(core, "fast").classes(NOW, ()))
    letter = Letter("north", "south", 1, 1, 1, Advertisement((service,)))
    assert read_letter(write_letter(letter)) == letter


def test_a_host_that_tasks_share_is_free_after_the_last_of_them() -> None:
    core = Coscheduler(CoreSettings(INSTANCE, staging=0.0, share_hosts=True))
    core.handle(HostsObserved(NOW, (Host("h1", cores=2), Host("h2", cores=2))))
    for number in (1, 2):
        core.handle(TaskSubmitted(NOW, a_task(number, None, 20.0 * number)))
    (found,) = DomainView(core, "fast").classes(NOW, ())
    assert found.free == (AvailabilityStep(0.0, 1), AvailabilityStep(40.0, 2))


def test_of_shared_hosts_what_is_free_beside_tasks_is_told() -> None:
    core = Coscheduler(CoreSettings(INSTANCE, staging=0.0, share_hosts=True))
    host = Host("h1", cores=8, memory=8000, gpus=2)
    core.handle(HostsObserved(NOW, (host,)))
    core.handle(TaskSubmitted(NOW, change_task(a_task(1, None, 20.0), cores=6, gpus=1)))  # it runs
    core.handle(TaskSubmitted(NOW, change_task(a_task(2, None, 30.0), cores=4)))  # it waits for that
    (found,) = DomainView(core, "fast").classes(NOW, ())
    assert found.memory_per_core == 1000
    (room,) = found.rooms
    assert [(step.after, step.cores, step.memory, step.gpus) for step in room.steps] == [
        (0.0, 2, 2000, 1),
        (20.0, 4, 4000, 2),
        (50.0, 8, 8000, 2),
    ]
    (booked,) = DomainView(core, "fast").classes(NOW, (change_task(a_task(9, None, 25.0), cores=2),))
    assert booked.rooms[0].free_from(HostShare(0, 2, 0)) == 20.0
    core.handle(HostsObserved(NOW, (replace(host, others=HostShare(1000, 1, 0)),)))
    (beside,) = DomainView(core, "fast").classes(NOW, ())
    assert beside.rooms[0].at(0.0).cores == 1


def test_a_task_that_has_its_host_for_itself_leaves_nothing_of_it() -> None:
    core = Coscheduler(CoreSettings(INSTANCE, staging=0.0, share_hosts=True))
    core.handle(HostsObserved(NOW, (Host("h1", cores=8, memory=8000),)))
    core.handle(TaskSubmitted(NOW, change_task(a_task(1, None, 20.0), exclusive=True)))
    (found,) = DomainView(core, "fast").classes(NOW, ())
    assert [step.after for step in found.rooms[0].steps] == [20.0]


def test_one_more_task_goes_where_it_makes_nobody_late() -> None:
    domain = DomainView(a_core(), "fast")
    assert domain.place(a_task(2, None, 10.0), NOW, ()) == NOW + 10.0
    assert domain.place(a_task(3, None, 10.0), NOW, (a_task(2, None, 30.0),)) == NOW + 40.0
    assert domain.place(replace(a_task(4), profile=None), NOW, ()) == math.inf


def test_who_is_late_and_who_waits() -> None:
    core = a_core()
    for number, deadline in ((2, NOW + 90.0), (3, NOW + 70.0), (4, None), (5, NOW + 1e4)):
        core.handle(TaskSubmitted(NOW, a_task(number, deadline)))
    domain = DomainView(core, "fast")
    expected = domain.expected(NOW)
    assert {one.task.id for one in expected} == {name for name in ("2", "3", "5") if domain.waits(name)}
    late = {one.task.id: one.end for one in expected if one.late}
    waiting = {name for name in core.tasks if domain.waits(name)}
    assert late.keys() <= waiting
    assert all(end > (core.tasks[name].spec.deadline or math.inf) for name, end in late.items())
    assert late
    assert not domain.waits("absent")
    assert domain.ends(NOW).keys() == core.tasks.keys()
    assert domain.hosts() == 2


def test_what_comes_after_another_task_stays_with_it() -> None:
    core = a_core()
    core.handle(TaskSubmitted(NOW, change_task(a_task(2, NOW + 10.0), after=("1",))))
    domain = DomainView(core, "fast")
    assert domain.ends(NOW)["2"] > NOW + 10.0
    assert not domain.expected(NOW)
    assert not domain.waits("2")
