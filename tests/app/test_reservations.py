from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.access import Principal, Role
from cosched.access.principals import ForbiddenError
from cosched.api.documents import ReservationRequest, TaskRequest
from cosched.api.problems import NotFoundError
from cosched.app.reservations import MOST_RESERVATIONS, new_reservation
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, JobReported
from cosched.errors import UserError
from tests.daemon.makers import daemon

if TYPE_CHECKING:
    from pathlib import Path

ANN, BOB = Principal("ann", Role.USER), Principal("bob", Role.OPERATOR)
CHIEF = Principal("chief", Role.ADMINISTRATOR)
NOW = 1e9


def request(**changes: Any) -> ReservationRequest:
    return ReservationRequest(**{"hosts": ("h2", "h1", "h2"), "end": NOW + 60, **changes})


def test_hosts_are_named_once_and_what_has_begun_begins_now() -> None:
    found = new_reservation(request(start=NOW - 5, name="course"), "chief", NOW, {"h1", "h2"}, 0)
    assert (found.hosts, found.begin, found.end, found.name, found.owner) == (
        ("h1", "h2"),
        NOW,
        NOW + 60,
        "course",
        "chief",
    )
    assert new_reservation(request(start=NOW + 5), "chief", NOW, {"h1", "h2"}, 0).begin == NOW + 5
    assert new_reservation(request(), "chief", NOW, {"h1", "h2"}, 0).id != found.id


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hosts": ()}, "name at least one"),
        ({"hosts": ("h1", "x")}, "the domain has no host 'x'"),
        ({"name": "a" * 101}, "at most 100 characters"),
        ({"name": "a\nb"}, "can be printed"),
        ({"end": NOW - 1}, "the end of the reservation .* is past"),
        ({"end": NOW + 1e9}, "more than ten years away: give an earlier one"),
        ({"start": NOW + 60}, "not after it begins"),
        ({"start": float("nan")}, "not after it begins"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        new_reservation(request(**changes), "chief", NOW, {"h1", "h2"}, 0)


def test_there_is_an_end_to_how_many_there_are() -> None:
    with pytest.raises(UserError, match="release some first"):
        new_reservation(request(), "chief", NOW, {"h1", "h2"}, MOST_RESERVATIONS)


def test_administrators_reserve_and_release_and_everybody_sees_it(tmp_path: Path) -> None:
    with daemon(tmp_path) as here:
        wanted = request(hosts=("h01",), end=here.clock.now() + 60, name="course")
        for principal in (ANN, BOB):
            with pytest.raises(ForbiddenError, match="only administrators"):
                here.services.reservations.reserve(principal, wanted)
        reserved = here.services.reservations.reserve(CHIEF, wanted)
        assert here.services.reservations.reservations(ANN) == [reserved]
        assert [host.reserved for host in here.services.domain.hosts(ANN)][:2] == ["course", ""]
        assert [each.id for each in here.store.reservations(0.0)] == [reserved.id]
        with pytest.raises(ForbiddenError):
            here.services.reservations.release(BOB, reserved.id)
        assert here.services.reservations.release(CHIEF, reserved.id) == reserved
        assert here.services.reservations.reservations(ANN) == []
        assert here.store.reservations(0.0) == ()
        with pytest.raises(NotFoundError, match="there is no reservation"):
            here.services.reservations.release(CHIEF, reserved.id)


def test_it_outlives_the_daemon(tmp_path: Path) -> None:
    with daemon(tmp_path) as here:
        reserved = here.services.reservations.reserve(CHIEF, request(hosts=("h01",), end=here.clock.now() + 60))
    with daemon(tmp_path) as here:
        assert here.services.reservations.reservations(ANN) == [reserved]


def test_tasks_that_will_run_into_it_are_named_to_those_who_may_see_them(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=1, staging=0.0) as here:
        here.services.submissions.submit(ANN, [TaskRequest(application="halving")], "", "")
        attempt, now = here.manager.submitted[0][0], here.clock.now()
        here.inbox.apply(AttemptSubmitted(now, attempt.uuid, "j")).result(60)
        here.inbox.apply(JobReported(now, JobReport(attempt.uuid, JobState.RUNNING, started=now))).result(60)
        wanted = request(hosts=attempt.hosts, start=now + 30, end=now + 60)
        assert here.services.reservations.reserve(CHIEF, wanted).tasks == ("1",)
        assert here.services.reservations.reservations(Principal("eve", Role.USER))[0].tasks == ()
        later = request(hosts=attempt.hosts, start=now + 500, end=now + 600)
        assert here.services.reservations.reserve(CHIEF, later).tasks == ()
