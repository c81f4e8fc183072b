from __future__ import annotations

import hashlib
import hmac
import json

from cosched.app.notifications.transports import hook_body, hook_headers, mail, notice_id
from cosched.app.views import task_view
from cosched.coscheduler.task import TaskState
from cosched.store.rows import Notice
from tests.tasks import make_task

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
