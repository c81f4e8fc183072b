from __future__ import annotations

import errno
import json
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import ConnectorError
from cosched.connector.mailboxes import ANSWERS, Mailboxes, make_in_spool, make_mailbox
from cosched.connector.spool import AttemptFolders
from cosched.connector.spool_pruning import prune_spool
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

ATTEMPT = "6a1f2a52-0d3c-4c9b-9d0e-0f2f6f6c8f11"


def boxes(folder: Path) -> Mailboxes:
    return Mailboxes(lambda attempt: folder / attempt, nullcontext)


def a_box(folder: Path, mode: int = 0o700) -> Path:
    make_mailbox(folder / ATTEMPT, mode)
    return folder / ATTEMPT


def test_mail_replaces_what_was_there_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    box = a_box(tmp_path)
    for revision in range(3):
        boxes(tmp_path).put(ATTEMPT, "offer.json", json.dumps(revision))
    assert sorted(file.name for file in box.iterdir()) == [ANSWERS, "offer.json"]
    assert (box / "offer.json").read_text() == "2"


def test_an_attempt_without_a_mailbox_gets_no_mail(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="has no mailbox yet") as refused:
        boxes(tmp_path).put(ATTEMPT, "token", "secret")
    assert refused.value.transient
    assert boxes(tmp_path).answers(ATTEMPT) == {}


@pytest.mark.parametrize("attempt", ["../secrets", "", "x"])
def test_no_attempt_names_another_folder(tmp_path: Path, attempt: str) -> None:
    with pytest.raises(UserError, match="is not a UUID"):
        boxes(tmp_path).put(attempt, "token", "secret")


def test_answers_come_in_the_order_of_their_names_and_others_are_left(tmp_path: Path) -> None:
    box = a_box(tmp_path) / ANSWERS
    for name in ("b.json", "a.json", "c.new"):
        (box / name).write_text(name)
    assert list(boxes(tmp_path).answers(ATTEMPT).items()) == [("a.json", "a.json"), ("b.json", "b.json")]


def test_what_a_job_puts_in_the_place_of_an_answer_harms_nobody(tmp_path: Path) -> None:
    box, secret = a_box(tmp_path) / ANSWERS, tmp_path / "secret"
    secret.write_text("secret")
    (box / "link.json").symlink_to(secret)
    (box / "folder.json").mkdir()
    (box / "long.json").write_text("x" * 100_000)
    os.mkfifo(box / "pipe.json")
    found = boxes(tmp_path).answers(ATTEMPT)
    assert set(found.values()) == {""}
    boxes(tmp_path).drop_answers(ATTEMPT, list(found))
    assert secret.read_text() == "secret"
    assert list(boxes(tmp_path).answers(ATTEMPT)) == ["folder.json"]


def test_an_answer_that_its_job_has_closed_is_dropped_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(file: Path, _most: int) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(file))

    (a_box(tmp_path) / ANSWERS / "a.json").write_text("closed")
    monkeypatch.setattr("cosched.connector.mailboxes.read_job_file", closed)  # for root there is no such file
    assert boxes(tmp_path).answers(ATTEMPT) == {"a.json": ""}


def test_of_very_many_answers_few_are_read_at_once_and_all_in_the_end(tmp_path: Path) -> None:
    box = a_box(tmp_path) / ANSWERS
    for number in range(50):
        (box / f"{number:02}.json").write_text(str(number))
    seen: list[str] = []
    while found := boxes(tmp_path).answers(ATTEMPT):
        assert len(found) <= 20
        seen += found.values()
        boxes(tmp_path).drop_answers(ATTEMPT, list(found))
    assert seen == [str(number) for number in range(50)]


@pytest.mark.parametrize(("mode", "box_mode", "file_mode"), [(0o700, 0o700, 0o600), (0o2770, 0o2750, 0o640)])
def test_mail_is_as_open_as_the_spool_and_only_answers_are_written_by_others(
    tmp_path: Path, mode: int, box_mode: int, file_mode: int
) -> None:
    box = a_box(tmp_path, mode)
    boxes(tmp_path).put(ATTEMPT, "token", "secret")
    assert (box.stat().st_mode & 0o7777, (box / ANSWERS).stat().st_mode & 0o7777) == (box_mode, mode)
    assert (box / "token").stat().st_mode & 0o7777 == file_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_mail_for_another_users_job_is_his_alone_and_stays_in_its_place(tmp_path: Path) -> None:
    make_mailbox(tmp_path / ATTEMPT, 0o700, (65534, 65534))
    boxes(tmp_path).put(ATTEMPT, "token", "secret")
    box = tmp_path / ATTEMPT
    assert box.stat().st_uid == 0
    assert (box / ANSWERS).stat().st_uid == 65534
    token = (box / "token").stat()
    assert (token.st_uid, token.st_mode & 0o777) == (65534, 0o600)


def test_the_place_of_mailboxes_is_taken_before_a_job_can_take_it(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    spool.chmod(0o3770)  # jobs of a common group write into it
    AttemptFolders(spool).create(ATTEMPT)
    assert (spool / "mailboxes").stat().st_mode & 0o7777 == 0o710


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_no_mailbox_is_made_where_a_link_of_another_user_leads(tmp_path: Path) -> None:
    attempts, elsewhere = AttemptFolders(tmp_path / "spool"), tmp_path / "state"
    attempts.root.mkdir()
    attempts.root.chmod(0o3770)
    elsewhere.mkdir(mode=0o700)
    (attempts.root / "mailboxes").symlink_to(elsewhere)
    os.chown(attempts.root / "mailboxes", 65534, 65534, follow_symlinks=False)
    with pytest.raises(ConnectorError, match="mailboxes belongs to another user: remove it"):
        make_in_spool(attempts, ATTEMPT)
    assert elsewhere.stat().st_mode & 0o777 == 0o700
    assert not list(elsewhere.iterdir())


def test_mailboxes_in_a_spool_go_with_their_attempts(tmp_path: Path) -> None:
    attempts = AttemptFolders(tmp_path / "spool")
    attempts.create(ATTEMPT)
    make_in_spool(attempts, ATTEMPT)
    later = attempts.mailbox(ATTEMPT).stat().st_mtime + 1000
    prune_spool(attempts.root, later, [ATTEMPT])
    assert attempts.mailbox(ATTEMPT).is_dir()
    prune_spool(attempts.root, later, [])
    assert not attempts.known(ATTEMPT)
    assert not attempts.mailbox(ATTEMPT).exists()


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("mail")
    (a_box(folder) / ANSWERS / "a.json").write_bytes(data)
    assert boxes(folder).answers(ATTEMPT) == {"a.json": data.decode(errors="replace")}
