from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from cosched.api.documents import (
    AdvertisingView,
    ExplanationView,
    Forecast,
    HostView,
    NetworkView,
    NoticeView,
    PeerView,
    PlanView,
    ReservationRequest,
    ReservationView,
    Status,
    TaskDetail,
    TaskPage,
    TaskRequest,
    TaskView,
)
from cosched.api.problems import ConflictError, NotFoundError
from cosched.app.domain_status import DomainDescription
from cosched.app.elastic.service import WorkerCounts
from cosched.app.event_feed import EventFeed
from cosched.app.services import DomainServices
from cosched.connector import Output
from cosched.coscheduler.elastic.resize_counts import ResizeCounts
from cosched.coscheduler.task import TaskState
from cosched.errors import SystemFault, UserError
from cosched.portal.application import build_application
from cosched.store import TaskColumn, TaskOrder, TaskSelection
from tests.access.memory import Trusting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.access import Principal
    from cosched.prediction.catalogue import CatalogueEntry

VIEW: dict[str, Any] = {
    "id": "1",
    "name": "n",
    "application": "sweep3d",
    "state": "queued",
    "reason": "",
    "owner": "",
    "submitted": 1.5,
    "deadline": None,
    "best_effort": False,
    "hosts": ("h1",),
    "count": 1,
    "predicted": None,
    "actual": None,
    "dispatched": None,
    "started": None,
    "finished": None,
    "exit_code": None,
    "attempts": 0,
    "on_time": None,
    "origin": "",
    "peer": "",
    "held_by": "",
    "claim": None,
    "failures": 0,
    "array": "",
    "array_index": None,
    "array_at_most": 0,
    "notice": "",
    "host_cores": 0,
    "stages": (),
}
DETAIL: dict[str, Any] = VIEW | {
    "command": ("/x",),
    "parameters": {"nx": 5.0},
    "environment": {},
    "directory": "",
    "prepare": (),
    "notify": (),
    "native": None,
    "time_limit": None,
    "profile": None,
    "tries": (),
    "log": (),
    "handovers": (),
}


PEER = PeerView(
    name="b",
    address="b.example:8642",
    role="upper",
    paused=False,
    heard=None,
    hosts=16,
    free=4,
    hardware=("sgi_origin2000",),
    given=2,
    taken=0,
    fault="",
)

RESERVATION = ReservationView(
    id="r1", name="course", hosts=("h1", "h2"), start=5.0, end=9.0, owner="chief", created=1.0, tasks=("7",)
)
_WAY = AdvertisingView(period=10.0, push=True, scope=1, lifetime=60.0)
NETWORK = NetworkView(
    since=1.5,
    offered=3,
    in_vain=1,
    forwarded=2,
    came_back=0,
    taken=0,
    hops=None,
    staleness=0.5,
    misjudged=None,
    letters_each=7.0,
    spreading=20,
    sent={"request": 3},
    received={"offer": 2},
    advertising=_WAY,
    adviser="advise",
    advice=None,
    fault="",
)


@dataclass
class Recorder:
    """A service that answers the same to everything, or raises, and keeps what it was asked."""

    error: Exception | None = None
    asked: list[Any] = field(default_factory=list)
    agents: NetworkView | None = None
    feed: EventFeed = field(default_factory=EventFeed)

    def mistakes(self) -> int:
        return 3

    def notices(self) -> list[NoticeView]:
        return []

    def counts(self) -> WorkerCounts:
        resizes = ResizeCounts(grown=8, shrunk=7, forced=1)
        return WorkerCounts(
            2, running=5, wanted=6, lent=3, leaving=1, drain=4.5, width=7, resizes=resizes, lent_seconds=90.5
        )

    def refused_letters(self) -> dict[str, int]:
        return {"north": 2}

    def _ask(self, *what: Any) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error

    def takes_long(self, requests: Sequence[TaskRequest]) -> bool:
        return any(request.application == "tunable" for request in requests)

    def submit(
        self,
        principal: Principal,
        requests: Sequence[TaskRequest],
        key: str,
        digest: str,
        check: Callable[[], None] = lambda: None,
    ) -> list[TaskView]:
        self._ask("submit", list(requests), key, digest)
        return [TaskView(**VIEW) for _ in requests]

    def foresee(
        self, principal: Principal, requests: Sequence[TaskRequest], check: Callable[[], None] = lambda: None
    ) -> list[Forecast]:
        self._ask("foresee", list(requests))
        nothing = dict.fromkeys(item.name for item in fields(Forecast)) | {"application": "sweep3d", "name": "n"}
        return [Forecast(**(nothing | {"planned_hosts": ()})) for _ in requests]  # type: ignore[arg-type]  # None fits the rest

    def tasks(
        self,
        principal: Principal,
        selection: TaskSelection,
        limit: int,
        offset: int,
        *,
        late: bool = False,
        order: TaskOrder | None = None,
    ) -> TaskPage:
        self._ask("tasks", selection, limit, offset, late, order)
        return TaskPage(tasks=(TaskView(**VIEW),), total=1, limit=limit, offset=offset)

    def task(self, principal: Principal, task_id: str) -> TaskDetail:
        self._ask("task", task_id)
        return TaskDetail(**DETAIL)

    def state(self, principal: Principal, task_id: str) -> TaskState:
        self._ask("state", task_id)
        return TaskState(DETAIL["state"])

    def output(
        self, principal: Principal, task_id: str, stream: str, rank: int, attempt: int, offset: int, limit: int
    ) -> Output | None:
        self._ask("output", principal, task_id, stream, rank, attempt, offset, limit)
        return Output(b"<b>\xff", 3, 9) if task_id == "1" else None

    def explain(self, principal: Principal, task_id: str) -> ExplanationView:
        self._ask("explain", task_id)
        return ExplanationView(
            task=task_id,
            state="queued",
            waits_for=("w",),
            planned_start=None,
            planned_end=None,
            planned_hosts=(),
            slack=None,
            would_change=(),
        )

    def cancel(self, principal: Principal, task_id: str) -> TaskView:
        self._ask("cancel", task_id)
        return TaskView(**VIEW)

    def hosts(self, principal: Principal) -> list[HostView]:
        self._ask("hosts")
        return [HostView(name="h1", host_class="", up=True, reason="", task="", free_at=None)]

    def reserve(self, principal: Principal, request: ReservationRequest) -> ReservationView:
        self._ask("reserve", principal.role, request)
        return RESERVATION

    def reservations(self, principal: Principal) -> list[ReservationView]:
        self._ask("reservations")
        return [RESERVATION]

    def release(self, principal: Principal, identifier: str) -> ReservationView:
        self._ask("release", principal.role, identifier)
        return RESERVATION

    def applications(self) -> list[CatalogueEntry]:
        return []

    def description(self, principal: Principal, applications: Iterable[CatalogueEntry]) -> DomainDescription:
        self._ask("published")
        return DomainDescription(
            domain="d",
            version="v",
            connector="condor",
            time=1.0,
            hosts=(),
            tasks={"queued": 2},
            applications=(("sweep3d", "a <wave> & more"),),
            faults=(),
        )

    def peers(self) -> list[PeerView]:
        return [PEER]

    def network(self) -> NetworkView | None:
        return self.agents

    def plan(self, principal: Principal) -> PlanView:
        self._ask("plan")
        return PlanView(time=1.0, placements=(), makespan=0.0, bound=None, gap=None, evaluations=0)

    def status(self, principal: Principal) -> Status:
        self._ask("status")
        return Status(
            domain="d",
            version="v",
            time=1.0,
            connector="local",
            policy="genetic",
            hosts_up=1,
            hosts_down=0,
            tasks=dict.fromkeys(map(str, TaskState), 0),
            faults=(),
            calls={"submit": 3},
        )


def services_of(recorder: Recorder) -> DomainServices:
    """Return the services of a domain that are all one recorder."""
    each: Any = recorder
    return DomainServices(
        submissions=each,
        tasks=each,
        reservations=each,
        domain=each,
        neighbours=each,
        models=each,
        history=each,
        feed=recorder.feed,
        shares=each,
        notices=each,
        forms=each,
        administration=each,
        elastic=each,
    )


@pytest.fixture
def service() -> Recorder:
    return Recorder()


@pytest.fixture
def client(service: Recorder) -> TestClient:
    return TestClient(build_application(services_of(service), Trusting()))


def test_one_task_is_answered_by_itself_and_a_list_by_a_list(client: TestClient, service: Recorder) -> None:
    one = client.post("/api/v1/tasks", json={"application": "sweep3d", "parameters": {"nx": 50, "title": "x"}})
    assert (one.status_code, one.json()) == (201, VIEW | {"hosts": ["h1"], "stages": []})
    two = client.post("/api/v1/tasks", json=[{"application": "a"}, {"command": ["/bin/true"], "hosts": "2-4"}])
    assert [task["id"] for task in two.json()] == ["1", "1"]
    (_, (first,), key, digest), (_, (_, second), _, _) = service.asked
    assert first == TaskRequest(application="sweep3d", parameters={"nx": 50, "title": "x"})
    assert second == TaskRequest(command=("/bin/true",), hosts="2-4")
    assert (key, digest) == ("", "")


def test_a_key_goes_with_a_digest_that_ignores_spelling(client: TestClient, service: Recorder) -> None:
    headers = {"Idempotency-Key": "k1", "Content-Type": "application/json"}
    for body in ('{"application": "a", "hosts": 2}', '{"hosts":2, "application":"a"}', '{"application": "b"}'):
        client.post("/api/v1/tasks", content=body, headers=headers)
    digests = [asked[3] for asked in service.asked]
    assert digests[0] == digests[1] != digests[2]
    assert service.asked[0][2] == "k1"
    refused = client.post("/api/v1/tasks", content="{}", headers=headers | {"Idempotency-Key": "a b"})
    assert refused.json()["detail"].startswith("Idempotency-Key must be")


def test_a_dry_run_only_foresees(client: TestClient, service: Recorder) -> None:
    answer = client.post("/api/v1/tasks?dry_run=true", json={"application": "a"})
    assert (answer.status_code, answer.json()["planned_hosts"]) == (200, [])
    assert [asked[0] for asked in service.asked] == ["foresee"]


def test_reading(client: TestClient, service: Recorder) -> None:
    assert client.get("/api/v1/tasks?state=queued&state=running&limit=5&offset=2").json()["total"] == 1
    assert service.asked[-1] == ("tasks", TaskSelection((TaskState.QUEUED, TaskState.RUNNING)), 5, 2, False, None)
    client.get("/api/v1/tasks?owner=ann&search=night")
    assert service.asked[-1] == ("tasks", TaskSelection((), "ann", "night"), 100, 0, False, None)
    client.get("/api/v1/tasks?application=fft&sort=-slack")
    wanted = (TaskSelection(application="fft"), 100, 0, False, TaskOrder(TaskColumn.SLACK, descending=True))
    assert service.asked[-1] == ("tasks", *wanted)
    assert client.get("/api/v1/tasks/7").json()["parameters"] == {"nx": 5.0}
    assert client.get("/api/v1/tasks/7/explain").json()["waits_for"] == ["w"]
    assert client.post("/api/v1/tasks/7/cancel", json={}).status_code == 202
    assert client.get("/api/v1/hosts").json()[0]["name"] == "h1"
    assert client.get("/api/v1/plan").json()["makespan"] == 0.0
    assert client.get("/api/v1/status").json()["domain"] == "d"
    assert client.get("/healthz").text == "ok\n"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UserError("no application 'x': the catalogue is y"), 422),
        (NotFoundError("there is no task '7'"), 404),
        (ConflictError("another request"), 409),
        (SystemFault("the disk is full"), 503),
    ],
)
def test_errors_are_problem_documents(client: TestClient, service: Recorder, error: Exception, status: int) -> None:
    service.error = error
    answer = client.get("/api/v1/tasks/7")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert (document["detail"], document["status"]) == (str(error), status)
    assert document["title"]


def test_what_a_task_wrote_is_sent_as_bytes_and_never_as_a_page(client: TestClient, service: Recorder) -> None:
    answer = client.get("/api/v1/tasks/1/output/err?rank=2&attempt=1&offset=-9&limit=5")
    assert answer.content == b"<b>\xff"
    assert (answer.headers["Cosched-Offset"], answer.headers["Cosched-Size"]) == ("3", "9")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert service.asked[-1][2:] == ("1", "err", 2, 1, -9, 5)
    assert client.get("/api/v1/tasks/2/output/out").status_code == 204
    assert client.get("/api/v1/tasks/1/output/log").status_code == 422
    assert client.get("/api/v1/tasks/1/output/out?limit=2000000").status_code == 422


def test_the_description_tells_what_a_task_is(client: TestClient) -> None:
    document = client.get("/api/v1/openapi.json").json()
    post = document["paths"]["/api/v1/tasks"]["post"]
    one, several = post["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    assert set(one["properties"]) == {item.name for item in fields(TaskRequest)}
    assert several["type"] == "array"


def test_who_has_an_answer_already_is_told_so(client: TestClient) -> None:
    for path in ("tasks", "tasks/7", "tasks/7/explain", "hosts", "plan", "status"):
        first = client.get(f"/api/v1/{path}")
        tag = first.headers["ETag"]
        for wanted in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = client.get(f"/api/v1/{path}", headers={"If-None-Match": wanted})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
        assert client.get(f"/api/v1/{path}", headers={"If-None-Match": '"other"'}).json() == first.json()
        assert first.headers["Cache-Control"] == "private, no-cache"


def test_the_neighbours_are_listed(client: TestClient, service: Recorder) -> None:
    assert client.get("/api/v1/network").json() is None
    service.agents = NETWORK
    assert client.get("/api/v1/network").json() == asdict(NETWORK)
    answer = client.get("/api/v1/peers")
    assert answer.json() == [asdict(PEER) | {"hardware": ["sgi_origin2000"]}]


def test_daemons_of_one_process_answer_with_their_own_values() -> None:
    tasks = {name: Recorder() for name in ("first", "second")}
    clients = {name: TestClient(build_application(services_of(service), Trusting())) for name, service in tasks.items()}
    clients["first"].get("/api/v1/tasks/7")
    clients["second"].get("/api/v1/tasks/8")
    assert {name: service.asked for name, service in tasks.items()} == {
        "first": [("task", "7")],
        "second": [("task", "8")],
    }
    counted = 'cosched_http_requests_total{method="GET",status="200"} 1.0'
    assert all(counted in client.get("/metrics").text for client in clients.values())
