from __future__ import annotations

import json
import re
import time
from getpass import getuser
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.coscheduler.task import TaskState
from tests.changes import changed
from tests.daemon.makers import serving
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.daemon.makers import Daemon


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    with serving(tmp_path) as (running, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        yield running


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(words)
    captured = capsys.readouterr()
    lines = captured.out.splitlines(keepends=True)
    # In this process the audit log is printed, too.
    return code, "".join(line for line in lines if not line.startswith("[info")), captured.err


def test_tasks_are_chosen_by_name_state_and_user(here: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("heat-1", "heat-2", "other"):
        assert run(["task", "submit", "halving", "--set", "work=40", "--name", name]) == 0
    now = time.time()
    theirs = make_task(9, name="heat-3", owner="bob", state=TaskState.FAILED, submitted=now, finished=now)
    here.store.commit(changed([theirs], []))
    capsys.readouterr()
    _, out, _ = said(capsys, "task", "list", "--name", "heat*")
    assert [line.split()[0] for line in out.splitlines()] == ["ID", "9", "2", "1"]
    _, out, _ = said(capsys, "task", "list", "--user", "bob", "--state", "failed")
    assert [line.split()[0] for line in out.splitlines()] == ["ID", "9"]
    assert said(capsys, "task", "hold", "--name", "heat*") == (0, "task 1 is held\ntask 2 is held\n", "")
    assert said(capsys, "task", "edit", "--named", "heat-2", "--name", "cold")[:2] == (0, "task 2 is changed\n")
    assert said(capsys, "task", "cancel", "--name", "heat*") == (0, "task 1 is cancelled\n", "")
    assert said(capsys, "task", "cancel", "--state", "queued")[1] == "task 2 is cancelled\ntask 3 is cancelled\n"
    assert said(capsys, "task", "resubmit", "--named", "heat*") == (0, "task 4 is task 1 once more\n", "")
    code, _, err = said(capsys, "task", "wait", "--state", "cancelled", "--timeout", "5s")
    assert (code, err) == (1, "")


@pytest.mark.usefixtures("here")
def test_of_several_tasks_what_was_done_is_printed_though_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: it was not told what had been submitted once more before another was refused."""
    for name in ("a", "b"):
        assert run(["task", "submit", "halving", "--name", name]) == 0
    capsys.readouterr()
    refusal = "cosched: there is no task '9': `cosched task list` shows what there is\n"
    done = "task 3 is task 1 once more\ntask 4 is task 2 once more\n"
    assert said(capsys, "task", "resubmit", "1", "9", "2") == (1, done, refusal)
    code, out, err = said(capsys, "task", "cancel", "--json", "9", "1")
    assert ([task["id"] for task in json.loads(out)], code, err) == (["1"], 1, refusal)
    assert said(capsys, "task", "cancel", "9") == (1, "", refusal)


def test_waiting_for_an_array_counts_what_has_failed_before(here: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    now, owner = time.time(), getuser()
    ended = [
        make_task(
            number, name="a", owner=owner, state=state, submitted=now, finished=now, array="1", array_index=number
        )
        for number, state in ((1, TaskState.FAILED), (2, TaskState.COMPLETED))
    ]
    here.store.commit(changed(ended, []))
    capsys.readouterr()
    code, out, _ = said(capsys, "task", "wait", "--array", "1", "--timeout", "5s")
    assert (code, out) == (1, "task 1 is failed\ntask 2 is completed\n")
    assert said(capsys, "task", "wait", "--array", "1", "--state", "completed") == (0, "task 2 is completed\n", "")
    assert f"no task of {owner} is chosen" in said(capsys, "task", "wait", "--array", "9")[2]
    assert "cosched: 2 names no array" in said(capsys, "task", "list", "--array", "2")[2]
    assert said(capsys, "task", "list", "--array", "1")[2] == ""
    code, _, err = said(capsys, "task", "wait", "--name", "a")
    assert (code, "shows those in other states, which --state chooses" in err) == (1, True)


def test_late_tasks_are_those_that_ended_late_or_will(here: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    now = time.time()
    late, punctual = (
        make_task(
            number, name="t", owner=getuser(), state=TaskState.COMPLETED, submitted=now, finished=now, deadline=deadline
        )
        for number, deadline in ((1, now - 5), (2, now + 5))
    )
    here.store.commit(changed([late, punctual], []))
    capsys.readouterr()
    _, out, _ = said(capsys, "task", "list", "--late")
    assert [line.split()[0] for line in out.splitlines()] == ["ID", "1"]
    for work, deadline in ((400, "now+20s"), (40, "now+1h")):
        words = ["--set", f"work={work}", "--deadline", deadline, "--best-effort"]
        assert run(["task", "submit", "halving", *words]) == 0
    capsys.readouterr()
    _, out, _ = said(capsys, "task", "list", "--late", "--state", "queued")
    assert len(out.splitlines()) == 2


@pytest.mark.usefixtures("here")
def test_a_begin_is_shown_changed_and_checked_against_the_deadline(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "task", "submit", "halving", "--set", "work=40", "--begin", "now+1h")[0] == 0
    assert "begin:       " in said(capsys, "task", "show", "1")[1]
    assert re.search("the time from which it may start, in (1 h|59 min)", said(capsys, "task", "explain", "1")[1])
    assert said(capsys, "task", "edit", "1", "--begin", "now+2h")[1] == "task 1 is changed\n"
    code, _, err = said(capsys, "task", "edit", "1", "--deadline", "now+2h")
    assert (code, "cannot be met" in err) == (1, True)
    assert said(capsys, "task", "edit", "1", "--begin", "now")[0] == 0
    assert "begin:" not in said(capsys, "task", "show", "1")[1]
    code, _, err = said(capsys, "task", "submit", "halving", "--begin", "2020-01-01T00:00Z")
    assert (code, "the begin 2020-01-01" in err) == (1, True)


@pytest.mark.usefixtures("here")
def test_what_was_meant_by_a_file_or_an_empty_deadline_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    for file, program in (
        ("job.sh", "./job.sh"),
        ("./job.sh", "./job.sh"),
        (f"{tmp_path}/job.sh", f"{tmp_path}/job.sh"),
    ):
        err = said(capsys, "task", "submit", file)[2]
        assert f"{file} is a file: `cosched task submit --file {file}`" in err
        assert f"`cosched task submit -- {program}` runs a program" in err
    code, _, err = said(capsys, "task", "submit", "halving", "--deadline", "")
    assert (code, err.partition(":")[0]) == (1, "cosched")
    assert "--deadline is empty: write now+2h" in err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no task is named: give identifiers, or choose by --user, --name, --state, --array or --late"),
        (["1", "--late"], "tasks are named by their identifiers and chosen by options: do one of both"),
        (
            ["--name", "nothing*"],
            f"no queued, forwarded, dispatching, running or cancelling task of {getuser()} is chosen: ",
        ),
        (
            ["--name", "nothing*", "--state", "queued"],
            f"no queued task of {getuser()} is chosen: `cosched task list` with the same options shows which are",
        ),
    ],
)
def test_a_selection_that_chooses_nothing_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "task", "cancel", *words)
    assert (code, out) == (1, "")
    assert err.startswith(f"cosched: {message}")
