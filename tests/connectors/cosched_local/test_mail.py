from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import ConnectorError, JobState
from cosched.connector.interface import CarriesMail
from cosched_local import LocalConnector
from cosched_local.mail import ANSWERS, MAILBOX, drop_answers, put_mail, read_answers

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract import Bench


def a_box(folder: Path) -> Path:
    (folder / MAILBOX / ANSWERS).mkdir(parents=True)
    return folder / MAILBOX


def test_a_job_with_a_mailbox_hears_and_answers(bench: Bench, spool: Path) -> None:
    connector = bench.connector
    assert isinstance(connector, CarriesMail)
    reply = 'until [ -e "$COSCHED_MAILBOX/offer.json" ]; do sleep 0.02; done; cd "$COSCHED_MAILBOX/answers"; '
    reply += "cp ../offer.json a.new; mv a.new a.json"
    launch, _ = bench.waiter(hosts=bench.up(1))
    launch = replace(launch, command=("/bin/sh", "-c", reply), mailbox=True)
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    connector.put_mail(launch.attempt, "offer.json", '{"revision": 1}')
    bench.listen(launch, JobState.COMPLETED)
    assert connector.answers(launch.attempt) == {"a.json": '{"revision": 1}'}
    connector.drop_answers(launch.attempt, ["a.json", "b.json"])
    assert connector.answers(launch.attempt) == {}
    box = spool / "attempts" / launch.attempt / MAILBOX
    assert box.stat().st_mode & 0o077 == 0
    assert (box / "offer.json").stat().st_mode & 0o077 == 0


def test_a_job_without_a_mailbox_gets_no_mail(bench: Bench) -> None:
    launch, gate = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    assert isinstance(bench.connector, LocalConnector)
    with pytest.raises(ConnectorError, match="has no mailbox yet"):
        bench.connector.put_mail(launch.attempt, "offer.json", "{}")
    assert bench.connector.answers(launch.attempt) == {}
    gate.touch()
    bench.until(launch, JobState.COMPLETED)


def test_mail_replaces_what_was_there_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    box = a_box(tmp_path)
    for revision in range(3):
        put_mail(tmp_path, "offer.json", json.dumps(revision))
    assert sorted(file.name for file in box.iterdir()) == [ANSWERS, "offer.json"]
    assert (box / "offer.json").read_text() == "2"


def test_answers_come_in_the_order_of_their_names_and_others_are_left(tmp_path: Path) -> None:
    box = a_box(tmp_path) / ANSWERS
    for name in ("b.json", "a.json", "c.new"):
        (box / name).write_text(name)
    assert list(read_answers(tmp_path).items()) == [("a.json", "a.json"), ("b.json", "b.json")]


def test_what_a_job_puts_in_the_place_of_an_answer_harms_nobody(tmp_path: Path) -> None:
    box, secret = a_box(tmp_path) / ANSWERS, tmp_path / "secret"
    secret.write_text("secret")
    (box / "link.json").symlink_to(secret)
    (box / "folder.json").mkdir()
    (box / "long.json").write_text("x" * 100_000)
    os.mkfifo(box / "pipe.json")
    found = read_answers(tmp_path)
    assert set(found.values()) == {""}
    drop_answers(tmp_path, list(found))
    assert secret.read_text() == "secret"
    assert list(read_answers(tmp_path)) == ["folder.json"]


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("mail")
    (a_box(folder) / ANSWERS / "a.json").write_bytes(data)
    assert read_answers(folder) == {"a.json": data.decode(errors="replace")}
