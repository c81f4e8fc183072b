from __future__ import annotations

import json
import socket
import threading
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from cosched.access import Principal, ProofOfIdentity, Role
from cosched.access.authentication import Identity
from cosched.addresses import ListenAddress
from cosched.api.problems import BusyError
from cosched.daemon.web.server import WebServer
from cosched.daemon.web.sockets import open_socket
from cosched.portal.application import build_application
from cosched.portal.computations import Computations, UserPlaces
from tests.access.memory import Trusting
from tests.portal.test_application import Recorder, services_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from cosched.access.proxies import RequestEvidence
    from cosched.api.documents import Forecast, TaskRequest, TaskView

DRY_RUN = "/api/v1/tasks?dry_run=true"
TASK = {"command": ["/bin/true"]}


@dataclass
class Slow(Recorder):
    """Foresees nothing until it is released or told to end; may be as slow with what ann submits."""

    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Event = field(default_factory=threading.Event)
    reasons: list[str] = field(default_factory=list)
    submits_slowly: bool = False

    def submit(
        self,
        principal: Principal,
        requests: Sequence[TaskRequest],
        key: str,
        digest: str,
        check: Callable[[], None] = lambda: None,
    ) -> list[TaskView]:
        if principal.name == "ann" and self.submits_slowly:
            self.began.release()
            self.released.wait(60)
        return super().submit(principal, requests, key, digest, check)

    def foresee(
        self, principal: Principal, requests: Sequence[TaskRequest], check: Callable[[], None] = lambda: None
    ) -> list[Forecast]:
        self.began.release()
        try:
            while not self.released.wait(0.01):
                check()
        except Exception as error:
            self.reasons.append(str(error))
            raise
        finally:
            self.ended.release()
        return super().foresee(principal, requests, check)


class ByHeader(Trusting):
    """Takes everybody for whom they say they are."""

    def identify(self, evidence: RequestEvidence) -> Identity:
        name = evidence.headers.get("x-name", "ann")
        return Identity(Principal(name, Role.USER, how=ProofOfIdentity.TOKEN), address=evidence.address)


@contextmanager
def serving(slow: Slow, folder: Path, turns: float = 60.0, **limits: Any) -> Iterator[str]:
    app = build_application(services_of(slow), ByHeader())
    app.state.portal = replace(
        app.state.portal,
        computations=Computations(lambda: slow.feed.closed, **limits),
        long_submissions=UserPlaces(1, "an earlier submission of yours is under way", patience=turns, pause=turns),
    )
    path = str(folder / "socket")
    server = WebServer(app, [open_socket(ListenAddress(path=path))])
    server.start()
    try:
        yield path
    finally:
        server.stop()


def client_of(path: str, name: str = "ann") -> httpx2.Client:
    transport = httpx2.HTTPTransport(uds=path)
    return httpx2.Client(transport=transport, base_url="http://localhost", headers={"X-Name": name}, timeout=240)


def asking(path: str, name: str = "ann", *, to: str = DRY_RUN, what: object = TASK) -> socket.socket:
    """Return a connection at which a dry run was asked for, or something else by a document or a form's text."""
    body = what.encode() if isinstance(what, str) else json.dumps(what).encode()
    kind = "application/x-www-form-urlencoded" if isinstance(what, str) else "application/json"
    headers = f"Host: localhost\r\nX-Name: {name}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(f"POST {to} HTTP/1.1\r\n{headers}\r\n".encode() + body)
    return connection


def test_dry_runs_of_one_user_leave_everybody_else_threads(tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow, tmp_path, patience=60.0) as path, ExitStack() as stack:
        for _ in range(44):
            stack.enter_context(asking(path))
        assert slow.began.acquire(timeout=240)
        with client_of(path, "bob") as bob:
            assert bob.get("/api/v1/status").status_code == 200
            assert bob.post("/api/v1/tasks", json=TASK).status_code == 201
            assert not slow.began.acquire(blocking=False)  # the others of the user wait for the first
            slow.released.set()
            assert bob.post(DRY_RUN, json=TASK).status_code == 200


@pytest.mark.parametrize(
    ("to", "what"), [("/api/v1/tasks", [TASK] * 200), ("/submit", "own=command&command=%2Fbin%2Ftrue&hosts=1")]
)
def test_long_submissions_of_one_user_leave_everybody_else_threads(tmp_path: Path, to: str, what: object) -> None:
    """Each made thousands of tasks on a thread of those that all submissions have, or all pages."""
    slow = Slow(submits_slowly=True)
    with serving(slow, tmp_path) as path, ExitStack() as stack:
        for _ in range(44):
            stack.enter_context(asking(path, to=to, what=what))
        assert slow.began.acquire(timeout=240)
        with client_of(path, "bob") as bob:
            assert bob.post("/api/v1/tasks", json=[TASK] * 200).status_code == 201
            assert not slow.began.acquire(blocking=False)  # the others of the user wait for the first
            slow.released.set()


def test_a_second_long_submission_of_a_user_is_refused_for_a_while(tmp_path: Path) -> None:
    slow = Slow(submits_slowly=True)
    with serving(slow, tmp_path, turns=0.05) as path, asking(path, to="/api/v1/tasks", what=[TASK] * 200):
        assert slow.began.acquire(timeout=240)
        with client_of(path) as ann:
            refused = ann.post("/api/v1/tasks", json=[TASK] * 200)
        slow.released.set()
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert "an earlier submission of yours" in refused.json()["detail"]


def test_a_computation_ends_when_its_client_goes(tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow, tmp_path) as path:
        connection = asking(path)
        assert slow.began.acquire(timeout=240)
        connection.close()
        assert slow.ended.acquire(timeout=240)
    assert slow.reasons == ["nobody waits for the answer any more: ask again"]


def test_a_computation_ends_with_the_daemon(tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow, tmp_path) as path, asking(path) as connection:
        assert slow.began.acquire(timeout=240)
        slow.feed.close()
        assert connection.recv(4096).startswith(b"HTTP/1.1 503")
    assert slow.reasons == ["cosched is ending: try again when it is back"]


def test_a_second_computation_of_a_user_is_refused_for_a_while(tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow, tmp_path, patience=0.05) as path, asking(path):
        assert slow.began.acquire(timeout=240)
        with client_of(path) as ann:
            refused = ann.post(DRY_RUN, json=TASK)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert "an earlier prediction of yours is under way" in refused.json()["detail"]
        slow.released.set()


def test_submissions_that_take_long_to_predict_pass_the_gate_of_dry_runs(tmp_path: Path) -> None:
    """Tunable tasks kept threads of submissions, as many as a user sent."""
    slow = Slow()
    with serving(slow, tmp_path, patience=0.05) as path, asking(path), client_of(path) as ann:
        assert slow.began.acquire(timeout=240)
        tunable = {"application": "tunable"}
        refused = ann.post("/api/v1/tasks", json=tunable)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        again = ann.post("/api/v1/tasks/1/resubmit", json={})
        assert again.status_code == 201  # of an application that has one stage
        assert ann.post("/api/v1/tasks", json=TASK).status_code == 201
        with client_of(path, "bob") as bob:
            assert bob.post("/api/v1/tasks", json=tunable).status_code == 201
        slow.released.set()


def test_the_places_of_a_user_are_nobody_elses_and_come_back() -> None:
    async def run() -> None:
        places = UserPlaces(2, "too many", patience=0.0, pause=2.0)
        ann, bob = (Principal(name, Role.USER, how=ProofOfIdentity.TOKEN) for name in ("ann", "bob"))
        async with AsyncExitStack() as held:

            async def take(principal: Principal) -> None:
                await held.enter_async_context(places.taken(principal))

            await take(ann)
            await take(ann)
            with pytest.raises(BusyError, match="too many") as refused:
                await take(ann)
            assert refused.value.pause == 2.0
            await take(bob)
        async with places.taken(ann):
            pass

    anyio.run(run)


def test_a_curve_waits_for_its_users_dry_run(tmp_path: Path) -> None:
    """Asked for again and again, curves delayed others' submissions by up to 13 s."""
    slow = Slow()
    with serving(slow, tmp_path, patience=0.05) as path, asking(path):
        assert slow.began.acquire(timeout=240)
        with client_of(path) as ann:
            refused = ann.get("/api/v1/models/applications/jacobi/curves")
        slow.released.set()
    assert (refused.status_code, "an earlier prediction of yours" in refused.json()["detail"]) == (429, True)


def test_computations_of_all_users_are_bounded(tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow, tmp_path, threads=1, patience=0.05) as path, asking(path):
        assert slow.began.acquire(timeout=240)
        with client_of(path, "bob") as bob:
            refused = bob.post(DRY_RUN, json=TASK)
            assert (refused.status_code, "others' predictions" in refused.json()["detail"]) == (429, True)
            slow.released.set()
            assert slow.ended.acquire(timeout=240)


def test_a_computation_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow, tmp_path, longest=-1.0) as path, client_of(path) as ann:
        answer = ann.post(DRY_RUN, json=TASK)
    assert (answer.status_code, "ask for fewer tasks" in answer.json()["detail"]) == (422, True)
