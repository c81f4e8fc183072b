from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient
from httpx2 import ASGITransport, AsyncClient

from cosched.access.principals import Principal, ProofOfIdentity, Role
from cosched.api.documents import LeadMessage, OfferView, ResizeRequest, WorkerOrder, WorkersView
from cosched.api.problems import ConflictError
from cosched.portal.application import build_application
from tests.access.memory import Trusting
from tests.portal.test_application import Recorder, services_of

LEAD = Principal("lead:u", Role.USER, frozenset(), ProofOfIdentity.LEAD, "u")
ORDER = WorkerOrder(worker=3, host="h3", order="leave", by=9.0, reason="task 2 starts on h3")


class Elastic:
    """Answers for one task, whose offer changes as it is asked."""

    def __init__(self) -> None:
        self.revisions = [4, 4, 5]
        self.asked = 0
        self.told: list[tuple[str, LeadMessage]] = []
        self.wishes: list[tuple[str, ResizeRequest]] = []

    def offer(self, principal: Principal, task_id: str) -> OfferView:
        self.asked += 1
        if principal is not LEAD:
            raise ConflictError("of another task")
        revision = self.revisions.pop(0) if len(self.revisions) > 1 else self.revisions[0]
        return OfferView(task=task_id, revision=revision, workers=(ORDER,))

    def tell(self, _principal: Principal, task_id: str, message: LeadMessage) -> None:
        self.told.append((task_id, message))

    def resize(self, principal: Principal, task_id: str, wish: ResizeRequest) -> WorkersView:
        self.wishes.append((task_id, wish))
        return self.workers(principal, task_id)

    def workers(self, _principal: Principal, task_id: str) -> WorkersView:
        return WorkersView(
            task=task_id,
            state="running",
            host="h1",
            lead="",
            drains=False,
            promised=(),
            promised_end=None,
            expected_end=None,
            workers=(),
        )


@pytest.fixture
def elastic() -> Elastic:
    return Elastic()


def client_of(elastic: Elastic, principal: Principal = LEAD) -> TestClient:
    service: Any = elastic
    services = replace(services_of(Recorder()), elastic=service)
    return TestClient(build_application(services, Trusting(principal)), base_url="http://localhost")


def test_an_offer_is_answered_at_once_or_when_there_is_a_later_one(elastic: Elastic) -> None:
    client = client_of(elastic)
    found = client.get("/api/v1/tasks/7/offer").json()
    assert (found["task"], found["revision"]) == ("7", 4)
    assert found["workers"] == [
        {
            "worker": 3,
            "host": "h3",
            "order": "leave",
            "by": 9.0,
            "reason": "task 2 starts on h3",
            "cluster": "",
        }
    ]
    assert client.get("/api/v1/tasks/7/offer?after=4&wait=20").json()["revision"] == 5
    assert client.get("/api/v1/tasks/7/offer?after=5&wait=0").json()["revision"] == 5


def test_a_message_is_taken_without_a_token_of_a_page(elastic: Elastic) -> None:
    answer = client_of(elastic).post("/api/v1/tasks/7/lead", json={"drained": [3], "done": 1, "total": 4})
    assert answer.status_code == 204
    assert elastic.told == [("7", LeadMessage(drained=(3,), done=1, total=4))]


def test_an_owner_wishes_for_other_numbers_of_hosts_and_a_lead_does_not(elastic: Elastic) -> None:
    owner = Principal("ann", Role.USER, how=ProofOfIdentity.TOKEN)
    assert client_of(elastic, owner).post("/api/v1/tasks/7/resize", json={"most": 6}).json()["host"] == "h1"
    assert elastic.wishes == [("7", ResizeRequest(most=6))]
    assert client_of(elastic).post("/api/v1/tasks/7/resize", json={"most": 6}).status_code == 403
    answer = client_of(elastic, owner).post("/api/v1/tasks/7/resize", json={"most": "six"})
    assert (answer.status_code, "most" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('{"drain": [3]}', "unknown key 'drain'"),
        ('{"drained": ["3"]}', "drained"),
        ('{"fraction": NaN}', "fraction"),
        ("[]", "a lead's message is a JSON object"),
    ],
)
def test_a_message_of_another_form_is_refused_with_what_it_has(elastic: Elastic, body: str, fault: str) -> None:
    answer = client_of(elastic).post("/api/v1/tasks/7/lead", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert fault in answer.json()["detail"]
    assert not elastic.told


def test_a_lead_may_see_neither_tasks_nor_their_workers(elastic: Elastic) -> None:
    client = client_of(elastic)
    for path in ("tasks", "tasks/7", "tasks/7/workers", "tasks/7/output/out"):
        assert client.get(f"/api/v1/{path}").status_code == 403
    assert client.post("/api/v1/tasks", json={"command": ["/bin/true"]}).status_code == 403
    assert client.post("/api/v1/tasks/7/cancel", json={}).status_code == 403


def test_what_the_service_refuses_is_refused(elastic: Elastic) -> None:
    other = Principal("lead:v", Role.USER, frozenset(), ProofOfIdentity.LEAD, "v")
    assert client_of(elastic, other).get("/api/v1/tasks/7/offer").status_code == 409
    owner = Principal("ann", Role.USER, how=ProofOfIdentity.TOKEN)
    assert client_of(elastic, owner).get("/api/v1/tasks/7/workers").json()["host"] == "h1"


def test_requests_that_wait_for_an_offer_are_counted_and_give_their_places_back(elastic: Elastic) -> None:
    """Each of them asks the core four times a second."""
    elastic.revisions = [4]
    statuses: list[int] = []

    async def ask_at_once(count: int) -> None:
        client = AsyncClient(transport=transport, base_url="http://localhost")

        async def ask() -> None:
            statuses.append((await client.get("/api/v1/tasks/7/offer?after=4&wait=20")).status_code)
            if len(statuses) == 5:  # those that were one too many are answered at once: the others may go now
                elastic.revisions = [5]

        async with client, anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(ask)

    transport = ASGITransport(client_of(elastic).app)
    anyio.run(ask_at_once, 25)
    assert sorted(statuses) == [200] * 20 + [429] * 5
    statuses.clear()
    anyio.run(ask_at_once, 20)
    assert statuses == [200] * 20


def test_requests_that_wait_for_an_offer_of_one_daemon_do_not_count_in_another(elastic: Elastic) -> None:
    """They were counted in the module, which all daemons of a process share."""
    elastic.revisions = [4]
    other = ASGITransport(client_of(Elastic()).app)

    async def run() -> None:
        waiting = AsyncClient(transport=ASGITransport(client_of(elastic).app), base_url="http://localhost")

        async def ask() -> None:
            await waiting.get("/api/v1/tasks/7/offer?after=4&wait=20")

        client = AsyncClient(transport=other, base_url="http://localhost")
        async with waiting, client, anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask)
            while elastic.asked < 20:
                await anyio.sleep(0.01)
            statuses.append((await client.get("/api/v1/tasks/7/offer")).status_code)
            elastic.revisions = [5]

    statuses: list[int] = []
    anyio.run(run)
    assert statuses == [200]


def test_a_request_for_an_offer_ends_when_its_client_goes(elastic: Elastic) -> None:
    elastic.revisions = [4]
    sent: list[str] = []

    async def run() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/tasks/7/offer",
            "raw_path": b"/api/v1/tasks/7/offer",
            "query_string": b"after=4&wait=30",
            "headers": [(b"host", b"localhost")],
            "http_version": "1.1",
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
            "root_path": "",
        }
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": b"", "more_body": False},
            {"type": "http.disconnect"},
        ]

        async def receive() -> dict[str, Any]:
            return messages.pop(0) if len(messages) > 1 else messages[0]

        async def send(message: dict[str, Any]) -> None:
            sent.append(message["type"])

        await client_of(elastic).app(scope, receive, send)  # type: ignore[arg-type]

    anyio.run(run)
    assert 1 <= elastic.asked < 10  # of 120 in 30 s
