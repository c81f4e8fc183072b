from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from cosched.api.documents import ReservationRequest
from cosched.api.problems import NotFoundError
from cosched.portal.application import build_application
from tests.access.memory import Trusting
from tests.portal.test_application import Recorder, services_of

if TYPE_CHECKING:
    from cosched.access.authentication import Authenticator

WANTED = {"hosts": ["h1", "h2"], "end": 9.0, "name": "course"}


def logged(access: Authenticator) -> list[tuple[str, str]]:
    return [(deed.action, deed.detail) for deed in access.audit_log(9)]


def test_reservations_are_made_listed_and_released_and_the_audit_log_says_so() -> None:
    service, access = Recorder(), Trusting()
    client = TestClient(build_application(services_of(service), access))
    made = client.post("/api/v1/reservations", json=WANTED)
    assert (made.status_code, made.json()["id"], made.json()["tasks"]) == (201, "r1", ["7"])
    assert client.get("/api/v1/reservations").json() == [made.json()]
    assert client.delete("/api/v1/reservations/r1").status_code == 204
    assert [what[0] for what in service.asked] == ["reserve", "reservations", "release"]
    assert service.asked[0][2] == ReservationRequest(hosts=("h1", "h2"), end=9.0, name="course")
    assert logged(access) == [("reservation released", "r1 course: h1, h2"), ("hosts reserved", "r1 course: h1, h2")]


def test_what_was_refused_is_not_in_the_audit_log() -> None:
    access = Trusting()
    client = TestClient(build_application(services_of(Recorder(NotFoundError("there is no reservation"))), access))
    assert client.delete("/api/v1/reservations/r1").status_code == 404
    assert client.post("/api/v1/reservations", json=WANTED).status_code == 404
    assert logged(access) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"end": 9.0}, "hosts is missing"),
        ({**WANTED, "end": "9"}, "end is '9'"),
        ({**WANTED, "until": 9}, "unknown key 'until': a reservation has hosts, end, start, name"),
        ({**WANTED, "hosts": "h1"}, "hosts is 'h1': it must be a valid list"),
    ],
)
def test_a_mistake_is_answered_with_one_clear_line(body: dict[str, object], message: str) -> None:
    answer = TestClient(build_application(services_of(Recorder()), Trusting())).post("/api/v1/reservations", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
