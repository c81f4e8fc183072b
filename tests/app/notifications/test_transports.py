from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from contextlib import contextmanager
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.app.notifications.transports import (
    MailServer,
    NotificationTargets,
    hook_body,
    hook_headers,
    mail,
    notice_id,
    post_hook,
    send_mail,
)
from cosched.app.views.task_views import task_view
from cosched.coscheduler.task import TaskState
from cosched.errors import SystemFault, UserError
from cosched.store.rows import Notice
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def saying(answer: bytes) -> Iterator[str]:
    """Be a server that says one thing to whoever comes, whatever they say, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answering() -> None:
            guest, _ = server.accept()
            with guest:
                guest.sendall(answer)
                guest.shutdown(socket.SHUT_WR)
                while guest.recv(4096):
                    pass

        thread = threading.Thread(target=answering)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            thread.join()


@pytest.fixture
def silent() -> Iterator[str]:
    """An address at which nobody listens, and nobody else will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def a_mail() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "cosched@example.org", "ann@example.org", "task 7"
    message.set_content("completed")
    return message


def test_a_hook_that_takes_it_says_nothing() -> None:
    with saying(b"HTTP/1.1 204 No Content\r\n\r\n") as address:
        post_hook(f"http://{address}/", b"{}", {})


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\n\r\n"],
)
def test_any_other_answer_of_a_hook_is_a_fault(answer: bytes) -> None:
    with saying(answer) as address, pytest.raises(SystemFault, match="the web hook answered "):
        post_hook(f"http://{address}/", b"{}", {})


def test_nonsense_instead_of_http_is_a_fault() -> None:
    with saying(b"220 ready\r\n") as address, pytest.raises(SystemFault, match="could not be reached"):
        post_hook(f"http://{address}/", b"{}", {})


@pytest.mark.parametrize("address", ["", "127.0.0.1:99999", "[::1"])
def test_a_hook_where_nobody_is_is_a_fault(address: str, silent: str) -> None:
    with pytest.raises(SystemFault, match="could not be reached"):
        post_hook(f"http://{address or silent}/", b"{}", {})


def test_a_server_that_takes_no_mail_is_a_fault() -> None:
    with saying(b"554 go away\r\n") as address, pytest.raises(SystemFault, match=r"did not take it .*554"):
        send_mail(a_mail(), MailServer(f"smtp://{address}"))


@pytest.mark.parametrize("scheme", ["smtp", "smtps", "smtp+starttls"])
def test_no_mail_server_is_a_fault(scheme: str, silent: str) -> None:
    with pytest.raises(SystemFault, match="did not take it"):
        send_mail(a_mail(), MailServer(f"{scheme}://{silent}"))


def test_a_password_never_leaves_without_encryption_that_was_asked_for() -> None:
    """Who asks for STARTTLS gets it or nothing: a server that does not offer it is not logged in at."""
    with saying(b"220 ready\r\n250 plain\r\n") as address, pytest.raises(SystemFault, match="STARTTLS"):
        send_mail(a_mail(), MailServer(f"smtp+starttls://{address}", "cosched", "secret"))


TASK = make_task(
    7,
    name="night run",
    submitted=1e9,
    owner="ann",
    deadline=1e9 + 50,
    state=TaskState.COMPLETED,
    finished=1e9 + 60,
    actual=30.0,
    hosts=("h1", "h2"),
)
NOTICE = Notice("7", "completed", "mailto:ann@example.org", 1e9 + 60, 1e9 + 60)


def test_a_notice_has_one_identifier_however_often_it_is_sent() -> None:
    again = Notice("7", "completed", "mailto:ann@example.org", 5.0, 6.0, 3, "fault")
    assert notice_id(NOTICE, "db") == notice_id(again, "db")
    assert (
        len({notice_id(NOTICE, "db"), notice_id(NOTICE, "other"), notice_id(Notice("7", "late", "x", 0, 0), "db")}) == 3
    )


def test_a_web_hook_gets_the_task_and_can_tell_who_sent_it() -> None:
    body = hook_body(NOTICE, "id", "here", task_view(TASK))
    document = json.loads(body)
    assert (document["event"], document["domain"], document["id"]) == ("task.completed", "here", "id")
    assert (document["task"]["state"], document["task"]["on_time"]) == ("completed", False)
    headers = hook_headers(body, "secret", 12.9)
    stamp, signature = (part.partition("=")[2] for part in headers["Cosched-Signature"].split(","))
    assert stamp == "12"
    assert signature == hmac.new(b"secret", b"12." + body, hashlib.sha256).hexdigest()
    assert json.loads(hook_body(NOTICE, "id", "here", None))["task"] == {"id": "7"}


def test_a_mail_says_what_became_of_the_task() -> None:
    message = mail(NOTICE, "id", "here", "cosched@example.org", task_view(TASK))
    assert message["Subject"] == "[here] task 7 (night run) is completed"
    assert (message["To"], message["Message-ID"]) == ("ann@example.org", "<id@example.org>")
    text = message.get_content()
    assert "Deadline: 2001-09-09" in text
    assert ", missed" in text
    assert "Ran for 30 s on 2 hosts" in text


def test_a_mail_ahead_of_time() -> None:
    late = Notice("7", "late", "mailto:ann@example.org", 1e9, 1e9)
    assert "will probably miss its deadline" in mail(late, "id", "here", "c@x", None)["Subject"]


ALLOWED = NotificationTargets(("hooks.example.org", "http://10.0.0.7:9000"), ("ann@example.org", "@site.example"))


@pytest.mark.parametrize(
    "target",
    [
        "https://hooks.example.org/x?y=1",
        "https://HOOKS.example.org",
        "http://10.0.0.7:9000/",
        "mailto:ann@example.org",
        "mailto:any.body+x@site.example",
        "mailto:ann@Example.org",
    ],
)
def test_a_listed_target_is_allowed(target: str) -> None:
    ALLOWED.check((target,))


@pytest.mark.parametrize(
    "target",
    [
        "",
        "hooks.example.org",
        "http://hooks.example.org/",
        "https://hooks.example.org:8443/",
        "https://evil.example/",
        "https://hooks.example.org.evil.example/",
        "https://hooks.example.org@evil.example/",
        "https://10.0.0.7:9000/",
        "https://ann:x@hooks.example.org/",
        "http://127.0.0.1/",
        "http://169.254.169.254/",
        "http://[::1]/",
        "file:///etc/passwd",
        "https://hooks.example.org\\@evil.example/",
        "https://hooks.example.org/\n",
        "https://hooks.example.org:x/",
        "mailto:bob@example.org",
        "mailto:ann@example.org,eve@evil.example",
        "mailto:ann@example.org?bcc=eve@evil.example",
        "mailto:ann@example.org\r\nBcc: eve@evil.example",
        "mailto:@site.example",
        "mailto:a@sub.site.example",
        "https://hooks.example.org/" + "x" * 1024,
        "https://hooks.example.org/\u202e",
    ],
)
def test_an_unlisted_target_is_refused(target: str) -> None:
    with pytest.raises(UserError, match=r"cannot be notified: allowed here are mailto:ann@example.org, mailto:…@site"):
        ALLOWED.check((target,))
    with pytest.raises(UserError, match="the administrator has allowed none"):
        NotificationTargets().check((target,))


def test_a_task_tells_a_few() -> None:
    with pytest.raises(UserError, match="6 addresses to notify are too many: give at most 5"):
        ALLOWED.check(("mailto:ann@example.org",) * 6)


@given(st.text())
def test_any_text_is_allowed_or_not(text: str) -> None:
    assert not ALLOWED.allows(text)
    assert not ALLOWED.allows(f"https://{text}") or text.lower().startswith("hooks.example.org")
