from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobState
from cosched_local import LocalConnector

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract import Bench


def test_a_job_with_a_mailbox_hears_and_answers(bench: Bench, spool: Path) -> None:
    connector = bench.connector
    assert connector.mail is not None
    reply = 'until [ -e "$COSCHED_MAILBOX/offer.json" ]; do sleep 0.02; done; cd "$COSCHED_MAILBOX/answers"; '
    reply += "cp ../offer.json a.new; mv a.new a.json"
    launch, _ = bench.waiter(hosts=bench.up(1))
    launch = replace(launch, command=("/bin/sh", "-c", reply), mailbox=True)
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    connector.mail.put(launch.attempt, "offer.json", '{"revision": 1}')
    bench.listen(launch, JobState.COMPLETED)
    assert connector.mail.answers(launch.attempt) == {"a.json": '{"revision": 1}'}
    connector.mail.drop_answers(launch.attempt, ["a.json", "b.json"])
    assert connector.mail.answers(launch.attempt) == {}
    box = spool / "attempts" / launch.attempt / "mailbox"
    assert box.stat().st_mode & 0o077 == 0
    assert (box / "offer.json").stat().st_mode & 0o077 == 0


def test_a_job_without_a_mailbox_gets_no_mail(bench: Bench) -> None:
    launch, gate = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    assert isinstance(bench.connector, LocalConnector)
    with pytest.raises(ConnectorError, match="has no mailbox yet"):
        bench.connector.mail.put(launch.attempt, "offer.json", "{}")
    assert bench.connector.mail.answers(launch.attempt) == {}
    gate.touch()
    bench.until(launch, JobState.COMPLETED)
