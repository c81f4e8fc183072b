"""From the configuration to what the notifier needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.access.private_file import read_secret
from cosched.service.notifier import Notify
from cosched.service.sending import MailServer
from cosched.service.targets import Targets

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.service.configuration import Configuration

__all__ = ["notify_settings"]


def notify_settings(configuration: Configuration) -> Notify:
    """Return the settings, with the secrets that the files hold.

    Raises:
        UserError: such a file cannot be read, or everybody can.
    """
    notify = configuration.notify
    password = _secret(notify.password_file, "the password file")
    return Notify(
        targets=Targets(notify.webhooks, notify.recipients),
        secret=_secret(notify.secret_file, "the secret file"),
        server=MailServer(notify.smtp, notify.user, password) if notify.smtp else None,
        sender=notify.sender,
        patience=notify.patience,
    )


def _secret(path: Path | None, what: str) -> str:
    return "" if path is None else read_secret(path, what)
