"""Transports deliver notices: which addresses are allowed, what is written, HTTP and SMTP.

Only listed addresses are told: a daemon that opens any would be a way into networks that only it can reach.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from cosched.api.times import format_time
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.api.documents import TaskView
    from cosched.store.rows import Notice

__all__ = [
    "MOST_TARGETS",
    "MailServer",
    "NotificationTargets",
    "hook_body",
    "hook_headers",
    "mail",
    "notice_id",
    "post_hook",
    "send_mail",
]

MOST_TARGETS = 5
"""Addresses of one task."""

_MAIL = re.compile(r"mailto:([A-Za-z0-9._%+-]{1,64})@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8})", re.ASCII)
_LONGEST = 1024
_STATES = {"late": "will probably miss its deadline", "unstarted": "was not started by the resource manager"}


@dataclass(frozen=True, slots=True)
class NotificationTargets:
    """Targets that may be notified.

    Attributes:
        webhooks: hosts, "hooks.example.org" (https only) or "http://10.0.0.7:9000" (this scheme and port).
        recipients: mail addresses, "ann@example.org" or, for all of a domain, "@example.org".
    """

    webhooks: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()

    def check(self, targets: tuple[str, ...]) -> None:
        """Refuse targets that are not allowed.

        Raises:
            UserError: one cannot be told, or there are too many; says what is allowed.
        """
        if len(targets) > MOST_TARGETS:
            raise UserError(f"{len(targets)} addresses to notify are too many: give at most {MOST_TARGETS}")
        for target in targets:
            if not self.allows(target):
                raise UserError(f"{target[:80]!r} cannot be notified: {self._allowed()}")

    def allows(self, target: str) -> bool:
        """Return whether this target may be notified."""
        if len(target) > _LONGEST or not target.isascii() or not target.isprintable() or " " in target:
            return False
        if target.startswith("mailto:"):
            return self._allows_mail(target)
        return self._allows_hook(target)

    def _allows_mail(self, target: str) -> bool:
        match = _MAIL.fullmatch(target)
        if match is None:
            return False
        address = f"{match[1]}@{match[2].lower()}"
        return any(address == allowed or f"@{match[2].lower()}" == allowed for allowed in self.recipients)

    def _allows_hook(self, target: str) -> bool:
        try:
            parts = urlsplit(target)
            port = parts.port
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or "\\" in target:
            return False
        origin = f"{parts.scheme}://{parts.hostname}" + ("" if port is None else f":{port}")
        return any(origin == (allowed if "://" in allowed else f"https://{allowed}") for allowed in self.webhooks)

    def _allowed(self) -> str:
        words = [f"mailto:…{each}" if each.startswith("@") else f"mailto:{each}" for each in self.recipients]
        words += [each if "://" in each else f"https://{each}/…" for each in self.webhooks]
        return f"allowed here are {', '.join(words)}" if words else "the administrator has allowed none in [notify]"


def notice_id(notice: Notice, instance: str) -> str:
    """Return what tells a notice from all others, the same whenever it is sent."""
    return str(uuid5(NAMESPACE_URL, f"cosched:{instance}/{notice.task}/{notice.kind}/{notice.target}"))


def hook_body(notice: Notice, identifier: str, domain: str, task: TaskView | None) -> bytes:
    """Return a web hook's document; `task` is None where it is not kept any more."""
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
    """Return headers that prove sender and time: an HMAC-SHA-256 of "TIME.BODY"."""
    stamp = str(int(time))
    signed = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "Cosched-Signature": f"t={stamp},v1={signed}"}


def mail(notice: Notice, identifier: str, domain: str, sender: str, task: TaskView | None) -> EmailMessage:
    """Return the mail to the address of a notice."""
    name = notice.task if task is None else f"{notice.task} ({_one_line(task.name)})"
    state = _STATES.get(notice.kind) or f"is {notice.kind}"
    message = EmailMessage()
    message["From"] = sender
    message["To"] = notice.target.removeprefix("mailto:")
    message["Subject"] = f"[{domain}] task {name} {state}"
    message["Message-ID"] = f"<{identifier}@{sender.rpartition('@')[2].rstrip('>') or 'cosched'}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("".join(f"{line}\n" for line in _lines(notice, name, state, task)))
    return message


def _lines(notice: Notice, name: str, state: str, task: TaskView | None) -> list[str]:
    lines = [f"Task {name} {state} ({format_time(notice.created)})."]
    if task is None:
        return lines
    if task.reason:
        lines.append(f"Reason: {_one_line(task.reason)}")
    if task.deadline is not None:
        kept = {True: ", kept", False: ", missed", None: ""}[task.on_time]
        lines.append(f"Deadline: {format_time(task.deadline)}{kept}")
    if task.actual is not None:
        lines.append(f"Ran for {format_duration(task.actual)} on {plural(task.count, 'host')}")
    return [*lines, "", f"cosched task show {notice.task}"]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server: `smtp://host:25`, `smtps://host:465` or `smtp+starttls://host:587`."""

    url: str
    user: str = ""
    password: str = ""


def post_hook(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Send a document to a web hook. Redirections are not followed: they could lead anywhere.

    Raises:
        SystemFault: it was not taken, or nobody answered.
    """
    import httpx2

    try:
        with (
            httpx2.Client(timeout=_TIMEOUT, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", url, content=body, headers=dict(headers)) as response,
        ):
            if not response.is_success:
                raise SystemFault(f"the web hook answered {response.status_code}")
    except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError) as error:
        raise SystemFault(f"the web hook could not be reached ({str(error) or type(error).__name__})") from error


def send_mail(message: EmailMessage, server: MailServer) -> None:
    """Hand a mail over.

    Raises:
        SystemFault: it was not taken, or nobody answered.
    """
    parts = urlsplit(server.url)
    host = parts.hostname or ""
    try:
        with _connected(parts.scheme, host, parts.port) as smtp:
            if parts.scheme == "smtp+starttls":
                smtp.starttls(context=ssl.create_default_context())
            if server.user:
                smtp.login(server.user, server.password)
            smtp.send_message(message)
    except (smtplib.SMTPException, OSError) as error:
        raise SystemFault(f"the mail server did not take it ({error})") from error


def _connected(scheme: str, host: str, port: int | None) -> smtplib.SMTP:
    if scheme == "smtps":
        return smtplib.SMTP_SSL(host, port or 465, timeout=_TIMEOUT, context=ssl.create_default_context())
    return smtplib.SMTP(host, port or 25, timeout=_TIMEOUT)
