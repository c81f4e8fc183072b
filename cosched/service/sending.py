"""How a notice leaves: by HTTP to a web hook, by SMTP to a mail server."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import EmailMessage

__all__ = ["MailServer", "post", "send_mail"]

_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over: `smtp://host:25`, `smtps://host:465` or `smtp+starttls://host:587`."""

    url: str
    user: str = ""
    password: str = ""


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
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
