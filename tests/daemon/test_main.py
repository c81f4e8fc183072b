from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.app.notifications.notifier import NotificationSettings
from cosched.app.notifications.transports import MailServer, NotificationTargets
from cosched.daemon.config.loading import load_configuration
from cosched.daemon.main import notification_settings
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.daemon.config.sections import Configuration


def configured(folder: Path, text: str) -> Configuration:
    file = folder / "cosched.toml"
    file.write_text(text)
    return load_configuration(file, {})


def test_nobody_is_told_anything_unless_it_is_configured(tmp_path: Path) -> None:
    settings = notification_settings(configured(tmp_path, ""))
    assert (settings.targets, settings.secret, settings.server) == (NotificationTargets((), ()), "", None)


def test_secrets_come_from_files_that_only_their_user_reads(tmp_path: Path) -> None:
    for name, secret in (("hook", "shared\n"), ("mail", "of the mailbox\nand a remark\n")):
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    text = f"""
[notify]
webhooks = ["https://hooks.example.org"]
secret_file = "{tmp_path}/hook"
recipients = ["@example.org"]
smtp = "smtp+starttls://mail.example.org:587"
user = "cosched"
password_file = "{tmp_path}/mail"
sender = "cosched@example.org"
"""
    configuration = configured(tmp_path, text)
    assert notification_settings(configuration) == NotificationSettings(
        NotificationTargets(("https://hooks.example.org",), ("@example.org",)),
        "shared",
        MailServer("smtp+starttls://mail.example.org:587", "cosched", "of the mailbox"),
        "cosched@example.org",
        patience=configuration.notify.patience,
    )
    (tmp_path / "hook").chmod(0o644)
    with pytest.raises(UserError, match=r"the secret file .*hook can be read by everybody on this machine: chmod o= "):
        notification_settings(configuration)
