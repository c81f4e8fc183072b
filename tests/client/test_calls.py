from __future__ import annotations

import os
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import (
    AccountChange,
    AccountRequest,
    AttemptView,
    ProfileView,
    ReservationRequest,
    TaskRequest,
    TokenRequest,
)
from cosched.client import Client, NotRunningError
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, JobReported
from cosched.errors import SystemFault, UserError
from tests.app.submission.detection import add_detection
from tests.daemon.makers import Daemon, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.api.documents import TaskDetail

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
    for value, words in (
        (Path("/bin/true"), "'/bin/true' is a PosixPath, which a request cannot carry: give str.PosixPath."),
        (datetime(2030, 1, 31, tzinfo=UTC), "is a datetime, which a request cannot carry: give its .timestamp"),
    ):
        with pytest.raises(UserError, match=words):
            client.submit(TaskRequest(application="halving", name=value))  # type: ignore[arg-type]  # as people do
    with pytest.raises(UserError, match=r"^command is '/bin/true': it must be a valid list"):  # one task has no place
        client.submit(TaskRequest(command="/bin/true"))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"^deadline is infinite or not a number"):
        client.submit(TaskRequest(application="halving", deadline=float("nan")))


def test_a_task_is_named_by_a_number_as_well_and_a_word_is_one_task(client: Client) -> None:
    for _ in range(2):
        task = client.submit(HALVING)
    assert client.task(int(task.id)) == client.task(task.id)  # type: ignore[arg-type]  # as people do
    with pytest.raises(UserError, match="there is no task '12'"):
        client.wait("12", timeout=0.0)  # not tasks 1 and 2


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


def test_waiting_outlasts_a_restart_of_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts that waited for tasks ended as if these had failed."""
    with serving(tmp_path) as (_, address), Client(address) as client:
        task = client.submit(HALVING).id
        asked, look = [0], client.task

        def away(task_id: str) -> TaskDetail:
            asked[0] += 1
            if asked[0] in (2, 3):
                raise NotRunningError("cosched is not running")
            return look(task_id)

        monkeypatch.setattr(client, "task", away)
        threading.Timer(0.2, client.cancel, [task]).start()
        assert client.wait([task], timeout=240)[0].state == "cancelled"
        assert asked[0] > 3
        monkeypatch.setattr("cosched.client.calls.RESTART_PATIENCE", 0.0)
        asked[0], other = 0, client.submit(HALVING).id
        with pytest.raises(NotRunningError):
            client.wait([other])
        asked[0] = 1
        with pytest.raises(NotRunningError):  # nobody is there from the first
            client.wait([other])
        assert asked[0] == 2


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


def test_a_run_is_in_the_past_the_log_and_the_accuracy(tmp_path: Path) -> None:
    with serving(tmp_path, staging=0.0) as (daemon, address), Client(address) as client:
        assert (client.runs(), client.accuracy()) == ([], [])
        task = client.submit(TaskRequest(application="halving", parameters={"work": 40.0}))
        attempt, now = daemon.manager.submitted[0][0], daemon.clock.now()
        daemon.inbox.apply(AttemptSubmitted(now, attempt.uuid, "j")).result(60)
        done = JobReport(attempt.uuid, JobState.COMPLETED, "j", started=now, finished=now + 6, exit_code=0)
        daemon.inbox.apply(JobReported(now + 6, done)).result(60)
        (learnt,) = client.learnt_runs("halving")
        assert (learnt.task, learnt.numbers, learnt.seconds) == (task.id, (40.0,), 6.0)
        client.forget_runs("halving")
        assert client.learnt_runs("halving") == []
        (run,) = client.runs(now - 60)
        assert [entry.runs for entry in client.usage(since=now - 60)] == [1]
        assert (run.task, run.state, run.end - run.start, run.hosts) == (task.id, "completed", 6.0, attempt.hosts)
        assert client.runs(now + 60) == []
        (entry,) = client.accuracy()
        assert (entry.application, entry.ratios) == ("halving", (6.0 / (attempt.predicted or 0.0),))
        assert {line.task for line in client.log(2)} == {task.id}
        assert client.log(1, 1) == client.log(2)[1:]
        assert client.search() == []  # nobody searches here


def test_the_plans_of_a_task_are_told(tmp_path: Path) -> None:
    with serving(tmp_path) as (daemon, address), Client(address) as client:
        task = client.submit(TaskRequest(application="halving", parameters={"work": 40.0}))
        daemon.inbox.ask(lambda _core, _time: None).result(60)  # it looks at the plan when it has answered
        (point,), (spot,) = client.plans(task.id), client.plan().placements
        assert point.hosts == len(spot.hosts)
        assert spot.end is not None
        assert point.end - point.start == pytest.approx(spot.end - spot.start)


def test_hosts_are_reserved_and_released(tmp_path: Path) -> None:
    with serving(tmp_path) as (daemon, address), Client(address) as client:
        wanted = ReservationRequest(hosts=("h01",), end=daemon.clock.now() + 60, name="course")
        made = client.reserve(wanted)
        assert (made.hosts, made.end, made.name, client.reservations()) == (("h01",), wanted.end, "course", [made])
        client.release(made.id)
        assert client.reservations() == []


def test_the_library_comes_typed(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, address), Client(address) as client:
        halving = next(entry for entry in client.applications() if entry.name == "halving")
        assert (halving.least, halving.most, halving.parameters[0].default) == (1, 8, 80.0)
        assert ("hardware", "sgi_origin2000") in {(model.kind, model.name) for model in client.models()}
        assert "application jacobi" in client.model("applications", "jacobi").text
        found = client.curves("jacobi_measured", {"Scale": 2.0}, 4)
        once = client.curves("jacobi_measured", {"Scale": 1.0}, 4)
        assert isinstance(found.profiles["sgi_origin2000"], ProfileView)
        doubled, single = (each.profiles["sgi_origin2000"].seconds[0] for each in (found, once))
        assert doubled is not None
        assert single is not None
        assert doubled == pytest.approx(2 * single)


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("nothing", {}, "no model 'nothing'"),
        ("jacobi", {"cell": 1.0}, "no parameter cell"),
        ("../x", {}, "there is"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, name: str, values: dict[str, float], said: str) -> None:
    with serving(tmp_path) as (_, address), Client(address) as client, pytest.raises(UserError, match=said):
        client.curves(name, values)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path) as (_, address):
        yield address


def test_a_token_is_given_out_used_and_revoked(address: str) -> None:
    with Client(address) as me:
        assert (me.me().how, me.me().role) == ("socket", "administrator")
        made = me.create_token(TokenRequest(user="ann", role="user", scopes=("read",), note="laptop"))
        with Client(address, token=made.token) as ann:
            assert (ann.me().name, ann.me().scopes) == ("ann", ("read",))
            with pytest.raises(UserError, match="has no scope manage"):
                ann.tokens()
            assert [token.id for token in me.tokens(everybody=True)] == [made.id]
            me.revoke_token(made.id)
            with pytest.raises(UserError, match="unknown, expired or revoked"):
                ann.me()
        assert me.tokens(everybody=True) == []
        assert [deed.action for deed in me.audit(2)] == ["token revoked", "token created"]


def test_an_account_is_made_changed_and_forgotten(address: str) -> None:
    with Client(address) as me:
        made = me.add_account(AccountRequest(name="bob", password="correct horse battery"))
        assert (made.role, made.enabled) == ("user", True)
        assert me.change_account("bob", AccountChange(role="operator", enabled=False)).role == "operator"
        assert [(each.name, each.enabled) for each in me.accounts()] == [("bob", False)]
        me.remove_account("bob")
        assert me.accounts() == []
        with pytest.raises(UserError, match="no account"):
            me.remove_account("bob")


@pytest.mark.parametrize("token", ["a b", "ü", "x\n"])
def test_what_can_be_no_token_is_not_sent(address: str, token: str) -> None:
    with pytest.raises(UserError, match="the token is no token"):
        Client(address, token=token)


def test_a_token_comes_from_a_file_that_not_everybody_reads(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    with Client(address) as me:
        file.write_text(me.create_token(TokenRequest(user="ann", role="user")).token + "\n")
    monkeypatch.setenv("COSCHED_TOKEN_FILE", str(file))
    file.chmod(0o644)
    with pytest.raises(UserError, match="can be read by everybody"):
        Client(address)
    file.chmod(0o600)
    with Client(address) as ann:
        assert ann.me().name == "ann"
    assert os.environ["COSCHED_TOKEN_FILE"] == str(file)


def test_the_first_stage_of_a_tunable_application_stands_for_all_of_them(tmp_path: Path) -> None:
    add_detection(tmp_path)
    with serving(tmp_path, hosts=4) as (_, address), Client(address) as client:
        request = TaskRequest(application="detect", begin="now+1h")
        names = ["detect.sample.1", "detect.mark.1", "detect.examine.1"]
        answered = client.submit_all([request])
        assert [task.name for task in answered] == names
        assert [task.stages for task in answered] == [tuple(task.id for task in answered)] * 3
        first = client.submit(request)
        assert (first.name, first.id) == (names[0], first.stages[0])
        assert client.task(first.id).stages == ()  # told once: `chain` has them from then on
        waited = client.wait([first.id], timeout=0.0)
        assert [(task.id, task.name) for task in waited] == list(zip(first.stages, names, strict=True))
        assert [task.id for task in client.wait([first.stages[1]], timeout=0.0)] == [first.stages[1]]
        assert [task.id for task in client.wait([first.id], timeout=0.0, stages=False)] == [first.id]
        client.cancel(first.id)
        assert [task.state for task in client.wait([first.id])] == ["cancelled"] * 3
