from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from aiosmtpd.controller import Controller

from cosched.app.notifications.notifier import NotificationSettings, Notifier, late_notices
from cosched.app.notifications.transports import MailServer, NotificationTargets
from cosched.connector.hosts import Host
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import AttemptDiagnosed, AttemptSubmitted, HostsObserved, TaskSubmitted, Tick
from cosched.coscheduler.task import TaskState
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import Store
from cosched.store.notice_outbox import NoticeOutbox
from cosched.store.rows import Notice
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.coscheduler.task import Task

NOW = 1e9
ENDED = make_task(7, name="night run", submitted=NOW, owner="ann", state=TaskState.COMPLETED, finished=NOW)


@dataclass
class Hook:
    """A web hook that answers as it is told."""

    url: str = ""
    status: int = 204
    heard: list[tuple[dict[str, Any], str]] = field(default_factory=list)


@contextmanager
def web_hook() -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.heard.append((json.loads(body), self.headers["Cosched-Signature"]))
            self.send_response(hook.status)
            self.send_header("Location", f"{hook.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Postbox:
    """What a mail server that was really spoken to has taken."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], str]] = []

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  aiosmtpd's name
        self.mails.append((envelope.rcpt_tos, envelope.content.decode()))
        return "250 taken"


@contextmanager
def mail_server() -> Iterator[tuple[Postbox, str]]:
    postbox = Postbox()
    controller = _AtAnyPort(postbox)
    controller.start()
    try:
        yield postbox, f"smtp://127.0.0.1:{controller.port}"
    finally:
        controller.stop()


class _AtAnyPort(Controller):
    """Listens on a port that is its own from the beginning, and has the time that it takes on a busy machine."""

    def __init__(self, postbox: Postbox) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        super().__init__(postbox, hostname="127.0.0.1", port=self._door.getsockname()[1], ready_timeout=60.0)

    def _create_server(self) -> Any:
        return self.loop.create_server(self._factory_invoker, sock=self._door)


@dataclass
class Told:
    """A notifier whose clock the test sets and whose looks it takes."""

    store: Store
    settings: NotificationSettings
    now: float = NOW
    late: list[Notice] = field(default_factory=list)

    def look(self) -> None:
        Notifier(self.store, self.settings, "here", lambda: self.late, lambda: self.now).look()

    def waiting(self) -> list[Notice]:
        return NoticeOutbox(self.store).due(1e12, 99)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(new_database(tmp_path))
    yield opened
    opened.close()


def test_the_end_of_a_task_is_told_once(store: Store) -> None:
    with web_hook() as hook, mail_server() as (postbox, smtp):
        settings = NotificationSettings(
            NotificationTargets((hook.url,), ("@example.org",)), "secret", MailServer(smtp), "cosched@example.org"
        )
        told = Told(store, settings)
        running = change_task(ENDED, state=TaskState.RUNNING, notify=(f"{hook.url}/x", "mailto:ann@example.org"))
        store.commit(changed([running]))
        told.look()
        assert (hook.heard, postbox.mails) == ([], [])
        store.commit(changed([change_task(ENDED, notify=(f"{hook.url}/x", "mailto:ann@example.org"))]))
        store.commit(
            changed([change_task(ENDED, notify=(f"{hook.url}/x", "mailto:ann@example.org"), reason="said again")])
        )
        told.look()
        told.look()
    ((document, signature),) = hook.heard
    assert (document["event"], document["task"]["id"], document["task"]["name"]) == ("task.completed", "7", "night run")
    assert signature.startswith("t=1000000000,v1=")
    ((recipients, mail),) = postbox.mails
    assert recipients == ["ann@example.org"]
    assert "Subject: [here] task 7 (night run) is completed" in mail
    assert told.waiting() == []


def test_a_refused_notice_is_tried_again_and_at_last_given_up(store: Store) -> None:
    with web_hook() as hook:
        told = Told(store, NotificationSettings(NotificationTargets((hook.url,)), "secret", patience=100.0))
        hook.status = 503
        store.commit(changed([change_task(ENDED, notify=(hook.url,))]))
        told.look()
        (waiting,) = told.waiting()
        assert (waiting.due, waiting.tries, waiting.fault) == (NOW + 5, 1, "the web hook answered 503")
        told.look()
        assert len(hook.heard) == 1  # not before its time
        told.now = NOW + 5
        told.look()
        assert told.waiting()[0].due == NOW + 15
        hook.status = 204
        told.now = NOW + 15
        told.look()
        assert len({document["id"] for document, _ in hook.heard}) == 1
        assert told.waiting() == []
        hook.status = 500
        store.commit(changed([change_task(ENDED, id="8", number=8, notify=(hook.url,))]))
        told.now = NOW + 99
        told.look()
        assert told.waiting() == []


def test_a_redirection_leads_nowhere(store: Store) -> None:
    with web_hook() as hook:
        told = Told(store, NotificationSettings(NotificationTargets((hook.url,)), "secret"))
        hook.status = 307
        store.commit(changed([change_task(ENDED, notify=(hook.url,))]))
        told.look()
    assert len(hook.heard) == 1
    assert told.waiting()[0].fault == "the web hook answered 307"


def test_a_target_that_is_not_allowed_any_more_is_not_told(store: Store) -> None:
    with web_hook() as hook:
        store.commit(changed([change_task(ENDED, notify=(hook.url,))]))
        told = Told(store, NotificationSettings())
        told.look()
    assert hook.heard == []
    assert told.waiting()[0].fault == "it is not allowed any more"


def test_nobody_at_the_other_end_is_a_fault_like_others(store: Store) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and so nobody else's
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        allowed = NotificationTargets((url,), ("@example.org",))
        told = Told(store, NotificationSettings(allowed, "secret", MailServer(url.replace("http", "smtp"))))
        store.commit(changed([change_task(ENDED, notify=(url, "mailto:ann@example.org"))]))
        told.look()
    assert sorted(notice.fault.split(" (")[0] for notice in told.waiting()) == [
        "the mail server did not take it",
        "the web hook could not be reached",
    ]


def test_lateness_is_told_once_and_ahead_of_time(store: Store) -> None:
    with web_hook() as hook:
        store.commit(changed([change_task(ENDED, state=TaskState.QUEUED, notify=(hook.url,))]))
        told = Told(store, NotificationSettings(NotificationTargets((hook.url,)), "secret"))
        told.late = [Notice("7", "late", hook.url, NOW, NOW)]
        notifier = Notifier(store, told.settings, "here", lambda: told.late, lambda: told.now)
        for _ in range(3):
            told.now += 20
            notifier.look()
    assert [document["event"] for document, _ in hook.heard] == ["task.late"]


def test_the_thread_looks_by_itself_and_ends(store: Store) -> None:
    with web_hook() as hook:
        store.commit(changed([change_task(ENDED, notify=(hook.url,))]))
        settings = NotificationSettings(NotificationTargets((hook.url,)), "secret", pause=0.01)
        notifier = Notifier(store, settings, "here", list, lambda: NOW)
        notifier.start()
        while NoticeOutbox(store).due(1e12, 9):
            time.sleep(0.01)
        notifier.stop()
    assert len(hook.heard) == 1
    assert not notifier.is_alive()


def task(number: int, deadline: float | None, *notify: str) -> Task:
    return make_task(
        number,
        name="n",
        submitted=NOW,
        profile=Profile((10.0,), PredictionSource.USER),
        notify=notify,
        deadline=None if deadline is None else NOW + deadline,
        best_effort=True,
    )


def test_a_task_that_is_planned_to_end_too_late_is_named() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    for each in (
        task(1, 60, "mailto:a@b"),
        task(2, 15, "mailto:a@b", "https://h"),
        task(3, 5),
        task(4, None, "mailto:a@b"),
    ):
        core.handle(TaskSubmitted(NOW, each))
    assert {(notice.task, notice.kind, notice.target) for notice in late_notices(core, NOW)} == {
        ("2", "late", "mailto:a@b"),
        ("2", "late", "https://h"),
    }
    assert {notice.task for notice in late_notices(core, NOW + 61)} == {"1", "2"}


def test_a_task_that_the_manager_does_not_start_is_named() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    core.handle(TaskSubmitted(NOW, task(1, None, "mailto:a@b")))
    (attempt,) = core.attempts
    core.handle(AttemptSubmitted(NOW, attempt, "1.0"))
    core.handle(Tick(NOW + 60))
    assert not late_notices(core, NOW + 60)
    core.handle(AttemptDiagnosed(NOW + 60, attempt, StartDiagnosis(StartVerdict.BLOCKED, "no licence")))
    assert [(notice.task, notice.kind) for notice in late_notices(core, NOW + 61)] == [("1", "unstarted")]


def test_without_targets_the_plan_is_not_looked_at() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341"))
    core.handle(TaskSubmitted(NOW, task(1, 5)))
    assert late_notices(core, NOW + 10) == []
