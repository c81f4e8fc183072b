from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.agents.protocol.advertised_rooms import AdvertisedRoom, RoomStep, advertised_rooms
from cosched.agents.protocol.advertisement import (
    AdvertisedHostClass,
    AdvertisedService,
    AvailabilityStep,
    availability_steps,
    debited,
    estimate_end,
    shared_class,
)
from cosched.agents.protocol.letter_xml import write_letter
from cosched.agents.protocol.letters import Advertisement, Letter
from cosched.connector.hosts import HostShare
from cosched.coscheduler.handovers import DocumentShape, TaskDocument
from cosched.prediction.profile import PredictionSource, Profile

DOCUMENT = TaskDocument("t", "x", "u", 5.0)
SIZE, HALF = HostShare(8000, 8, 2), HostShare(4000, 4, 1)
HOUR = Profile((3600.0,), PredictionSource.USER)
times = st.lists(st.floats(0, 1e6), min_size=1, max_size=300)


@given(times)
def test_steps_promise_no_host_before_it_is_free(free: list[float]) -> None:
    offered = AdvertisedHostClass("h", availability_steps(free))
    known = offered.times()
    assert all(offered.times(None, most) == known[:most] for most in (1, 2, 400))
    assert len(known) == len(free)
    assert all(told >= real for told, real in zip(known, sorted(free), strict=True))
    assert len(availability_steps(free)) <= 64


@given(times, st.lists(st.floats(0.1, 1e5), min_size=1, max_size=8))
def test_an_estimate_is_the_earliest_end_and_a_debit_makes_it_no_earlier(free: list[float], row: list[float]) -> None:
    service = AdvertisedService("b", 0.0, 0, (AdvertisedHostClass("h", availability_steps(free)),))
    profile = Profile(tuple(row), PredictionSource.USER)
    found = estimate_end(service, DOCUMENT, lambda _hardware, _hosts: profile)
    assert found is not None
    known = service.classes[0].times()
    assert found.end == min(known[n - 1] + row[n - 1] for n in range(1, min(len(row), len(known)) + 1))
    later = estimate_end(debited(service, found), DOCUMENT, lambda _hardware, _hosts: profile)
    assert later is not None
    assert later.end >= found.end


def test_time_that_has_gone_by_counts() -> None:
    service = AdvertisedService("b", 4.0, 0, (AdvertisedHostClass("h", (AvailabilityStep(10.0, 1),)),))
    found = estimate_end(service, DOCUMENT, lambda _hardware, _hosts: Profile((5.0,), PredictionSource.USER))
    assert found is not None
    assert found.end == pytest.approx(11.0)


def test_hosts_that_vanish_are_no_profile() -> None:
    with pytest.raises(ValueError, match="grow"):
        AdvertisedHostClass("h", (AvailabilityStep(1.0, 5), AvailabilityStep(2.0, 3)))


def half_free() -> AdvertisedService:
    """Return a service of two hosts, each with a task on one half of it for 100 s."""
    rooms = advertised_rooms([[(0.0, HALF), (100.0, SIZE)]] * 2)
    return AdvertisedService("b", 0.0, 0, (shared_class("h", rooms, 1000),))


def expected(document: TaskDocument, service: AdvertisedService | None = None) -> float | None:
    found = estimate_end(service or half_free(), document, lambda _hardware, _hosts: HOUR)
    return None if found is None else found.end - 3600.0


@pytest.mark.parametrize(
    ("needs", "begin"),
    [
        ({}, 0.0),
        ({"cores": 4}, 0.0),
        ({"cores": 5}, 100.0),
        ({"cores": 4, "memory": 4001}, 100.0),
        ({"cores": 1, "gpus": 2}, 100.0),
        ({"exclusive": True}, 100.0),
        ({"cores": 9}, None),
    ],
)
def test_a_half_free_host_is_free_for_who_fits_beside(needs: dict[str, Any], begin: float | None) -> None:
    assert expected(replace(DOCUMENT, **needs)) == begin


def test_memory_that_a_task_does_not_name_comes_with_its_cores() -> None:
    rooms = advertised_rooms([[(0.0, HostShare(1000, 8, 0)), (100.0, SIZE)]])
    service = AdvertisedService("b", 0.0, 0, (shared_class("h", rooms, 1000),))
    assert expected(replace(DOCUMENT, cores=2), service) == 100.0
    assert expected(replace(DOCUMENT, cores=2, memory=500), service) == 0.0


def test_of_several_shapes_the_one_that_ends_first_counts() -> None:
    shapes = (DocumentShape(1, 4, 90.0), DocumentShape(1, 8, 50.0))
    document = replace(DOCUMENT, cores_range="4-8", shapes=shapes)
    found = estimate_end(half_free(), document, lambda _hardware, _hosts: HOUR)
    assert found is not None
    assert (found.end, found.share) == (90.0, HostShare(4000, 4, 0))
    shape = DocumentShape(1, 2, 9.0)
    ranks = replace(DOCUMENT, processes="2-4", cores_per_process=2, gpus_per_process=1, shapes=(shape,))
    found = estimate_end(half_free(), ranks, lambda _hardware, _hosts: HOUR)
    assert found is not None
    assert (found.end, found.share) == (109.0, HostShare(4000, 4, 2))


def test_a_host_is_not_promised_to_more_tasks_than_it_has_room_for() -> None:
    service, document = half_free(), replace(DOCUMENT, cores=4)
    begins = []
    for _ in range(4):
        found = estimate_end(service, document, lambda _hardware, _hosts: HOUR)
        assert found is not None
        begins.append(found.end - 3600.0)
        service = debited(service, found)
    assert begins == [0.0, 0.0, 100.0, 100.0]


def test_free_cores_are_counted_as_of_now() -> None:
    (host_class,) = half_free().classes
    assert (host_class.cores(0.0), host_class.cores(100.0)) == ((8, 16), (16, 16))
    assert sum(count for _, count in host_class.waits()) == 16


def test_rooms_of_more_hosts_than_there_are_are_none() -> None:
    with pytest.raises(ValueError, match="not those of its hosts"):
        AdvertisedHostClass("h", (AvailabilityStep(0.0, 1),), advertised_rooms([[(0.0, SIZE)]] * 2))


def test_no_service_is_larger_in_a_letter_than_it_says() -> None:
    steps = tuple(RoomStep(3155759999.1234567, 65536, 1 << 30, 65536) for _ in range(16))
    classes = (
        shared_class('"' * 50, tuple(AdvertisedRoom(1, steps) for _ in range(64)), 1 << 30),
        AdvertisedHostClass("\U0001f600" * 50, tuple(AvailabilityStep(1e9 + each, each + 1) for each in range(64))),
        AdvertisedHostClass("", ()),
    )
    for service in (
        AdvertisedService("d" * 64, 3155759999.1234567, 64, classes, ("&<>" * 9, "") * 500, manager="\t\n" * 9),
        AdvertisedService("d", 0.0, 0, ()),
    ):
        one, none = (len(write_letter(Letter("a", "b", 1, 1, 1, Advertisement(told)))) for told in ((service,), ()))
        assert one - none <= service.most_bytes
