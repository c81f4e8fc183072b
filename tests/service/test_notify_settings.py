from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.service.configuration import load
from cosched.service.notifier import Notify
from cosched.service.notify_settings import notify_settings
from cosched.service.sending import MailServer
from cosched.service.targets import Targets

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.service.configuration import Configuration


def configured(folder: Path, text: str) -> Configuration:
    file = folder / "cosched.toml"
    file.write_text(text)
    return load(file, {})


def test_nobody_is_told_anything_unless_it_is_configured(tmp_path: Path) -> None:
    settings = notify_settings(configured(tmp_path, ""))
    assert (settings.targets, settings.secret, settings.server) == (Targets((), ()), "", None)


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
    assert notify_settings(configuration) == Notify(
        Targets(("https://hooks.example.org",), ("@example.org",)),
        "shared",
        MailServer("smtp+starttls://mail.example.org:587", "cosched", "of the mailbox"),
        "cosched@example.org",
        patience=configuration.notify.patience,
    )
    (tmp_path / "hook").chmod(0o644)
    with pytest.raises(UserError, match=r"the secret file .*hook can be read by everybody on this machine: chmod o= "):
        notify_settings(configuration)
