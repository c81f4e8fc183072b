from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import AttemptView, ProfileView, TaskRequest
from cosched.client import Client
from cosched.connector.interface import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, JobReported
from cosched.errors import SystemFault, UserError
from tests.daemon.makers import Daemon, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HALVING = TaskRequest(application="halving", parameters={"work": 40.0})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Daemon, str]]:
    with serving(tmp_path) as running:
        yield running


@pytest.fixture
def client(server: tuple[Daemon, str]) -> Iterator[Client]:
    with Client(server[1]) as client:
        yield client


def test_a_task_goes_there_and_comes_back_typed(client: Client) -> None:
    task = client.submit(HALVING)
    detail = client.task(task.id)
    assert detail.parameters == {"work": 40.0}
    assert isinstance(detail.profile, ProfileView)
    assert detail.profile.seconds[:2] == (40.0, 20.0)
    assert detail.command == ("/opt/halving", "--work=40")
    assert client.tasks(["queued"]).tasks == (task,)
    assert client.explain(task.id).planned_start is not None
    assert client.foresee(HALVING).planned_hosts
    assert client.plan().placements[0].task == task.id
    assert len(client.hosts()) == 16
    assert client.status().tasks["queued"] == 1
    assert client.cancel(task.id).state == "cancelled"


def test_the_same_key_makes_the_same_task(client: Client) -> None:
    assert client.submit(HALVING, "k").id == client.submit(HALVING, "k").id
    assert client.submit(HALVING).id != client.submit(HALVING).id
    with pytest.raises(UserError, match="was used for another request"):
        client.submit(TaskRequest(application="plain"), "k")


def test_refusals_are_user_errors_and_faults_system_faults(client: Client, server: tuple[Daemon, str]) -> None:
    with pytest.raises(UserError, match="no application 'x'"):
        client.submit(TaskRequest(application="x"))
    for name in ("7", "..", "", "a/../../b", "%2e%2e"):
        with pytest.raises(UserError, match="there is no"):
            client.task(name)


def test_what_json_has_no_words_for_is_refused_before_it_is_sent(client: Client) -> None:
    with pytest.raises(UserError, match="is not UTF-8 text: leave out"):
        client.submit(TaskRequest(command=("/bin/true", "\udcff")))
    with pytest.raises(UserError, match="infinite or not a number"):
        client.submit(TaskRequest(application="halving", deadline=float("nan")))


def test_waiting_ends_with_the_tasks_or_the_patience(tmp_path: Path) -> None:
    with serving(tmp_path, staging=0.0) as (daemon, address), Client(address) as client:
        task = client.submit(HALVING)
        assert client.wait([task.id], timeout=0.0)[0].state == "dispatching"
        attempt = daemon.manager.submitted[0][0]
        now = daemon.clock.now()
        daemon.inbox.post(AttemptSubmitted(now, attempt.uuid, "j"))
        done = JobReport(attempt.uuid, JobState.COMPLETED, "j", started=now, finished=now + 5, exit_code=0)
        threading.Timer(0.2, daemon.inbox.post, [JobReported(now, done)]).start()
        (ended,) = client.wait([task.id])
        assert ended.state == "completed"
        assert ended.actual == pytest.approx(5.0)
        assert isinstance(ended.tries[0], AttemptView)


def test_a_lost_answer_is_asked_for_again_under_the_same_key(tmp_path: Path) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as flaky:
        port = flaky.getsockname()[1]

        def drop() -> None:
            for _ in range(2):
                connection, _ = flaky.accept()
                with connection:
                    seen.append(connection.recv(65536))

        thread = threading.Thread(target=drop)
        thread.start()
        with Client(f"http://127.0.0.1:{port}") as client, pytest.raises(SystemFault, match="did not answer"):
            client.submit(HALVING)
        thread.join()
    keys = {line for request in seen for line in request.split(b"\r\n") if line.lower().startswith(b"idempotency-key")}
    assert (len(seen), len(keys)) == (2, 1)
