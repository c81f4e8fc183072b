"""What is told of a task, as a web hook's document and as a mail."""

from __future__ import annotations

import hashlib
import hmac
import json
from email.message import EmailMessage
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from cosched.service.deadline import shown

if TYPE_CHECKING:
    from cosched.portal.documents import TaskView
    from cosched.store.outbox import Notice

__all__ = ["hook_body", "hook_headers", "mail", "notice_id"]


def notice_id(notice: Notice, instance: str) -> str:
    """Return what tells a notice from all others, the same whenever it is sent."""
    return str(uuid5(NAMESPACE_URL, f"cosched:{instance}/{notice.task}/{notice.kind}/{notice.target}"))


def hook_body(notice: Notice, identifier: str, domain: str, task: TaskView | None) -> bytes:
    """Return the document that a web hook is sent; `task` is None where nothing is kept of it any more."""
    from dataclasses import asdict

    document = {
        "id": identifier,
        "event": f"task.{notice.kind}",
        "time": notice.created,
        "domain": domain,
        "task": {"id": notice.task} if task is None else asdict(task),
    }
    return json.dumps(document, separators=(",", ":")).encode()


def hook_headers(body: bytes, secret: str, time: float) -> dict[str, str]:
    """Return headers by which the receiver knows who sent it and when: an HMAC-SHA-256 of "TIME.BODY"."""
    stamp = str(int(time))
    signed = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "Cosched-Signature": f"t={stamp},v1={signed}"}


def mail(notice: Notice, identifier: str, domain: str, sender: str, task: TaskView | None) -> EmailMessage:
    """Return the mail to the address of a notice."""
    name = notice.task if task is None else f"{notice.task} ({_line(task.name)})"
    state = "will probably miss its deadline" if notice.kind == "late" else f"is {notice.kind}"
    message = EmailMessage()
    message["From"] = sender
    message["To"] = notice.target.removeprefix("mailto:")
    message["Subject"] = f"[{domain}] task {name} {state}"
    message["Message-ID"] = f"<{identifier}@{sender.rpartition('@')[2].rstrip('>') or 'cosched'}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("".join(f"{line}\n" for line in _lines(notice, name, state, task)))
    return message


def _lines(notice: Notice, name: str, state: str, task: TaskView | None) -> list[str]:
    lines = [f"Task {name} {state} ({shown(notice.created)})."]
    if task is None:
        return lines
    if task.reason:
        lines.append(f"Reason: {_line(task.reason)}")
    if task.deadline is not None:
        kept = {True: ", kept", False: ", missed", None: ""}[task.on_time]
        lines.append(f"Deadline: {shown(task.deadline)}{kept}")
    if task.actual is not None:
        lines.append(f"Ran for {task.actual:.0f} s on {task.count} hosts")
    return [*lines, "", f"cosched task show {notice.task}"]


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
