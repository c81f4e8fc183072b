from __future__ import annotations

import json
import sys
from getpass import getuser
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from cosched.cli.main import run
from tests.daemon.makers import Daemon, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    # What it logs, in the commands' own process, is not what they print.
    with capture_logs(), serving(tmp_path) as (running, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        yield running


@pytest.fixture
def cosched(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> Cosched:
    return Cosched(capsys)


class Cosched:
    """Runs commands; gives exit code, output and errors."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = run(words)
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def json(self, *words: str) -> Any:
        code, out, err = self(*words[:2], "--json", *words[2:])
        assert (code, err) == (0, "")
        return json.loads(out)


def test_an_application_is_submitted_and_followed(cosched: Cosched) -> None:
    assert cosched("task", "submit", "halving", "--set", "work=40", "--name", "mine") == (
        0,
        "task 1 (mine) accepted\n",
        "",
    )
    code, out, _ = cosched("task", "list")
    assert code == 0
    assert out.splitlines()[0].split() == ["ID", "NAME", "OWNER", "STATE", "HOSTS", "END"]
    assert out.splitlines()[1].split()[:4] == ["1", "mine", getuser(), "queued"]
    assert "prediction:  40 s on 1 host, at best 5.0 s on 8 hosts (model, fast)" in cosched("task", "show", "1")[1]
    assert "task 1 is queued\nit waits for:  " in cosched("task", "explain", "1")[1]
    assert cosched("task", "cancel", "1") == (0, "task 1 is cancelled\n", "")
    assert cosched("task", "wait", "1") == (1, "task 1 is cancelled: cancelled by the user\n", "")


def test_a_command_after_two_dashes_keeps_its_own_options(cosched: Cosched) -> None:
    task = cosched.json("task", "submit", "--profile", "50,-,30", "--hosts", "1-3", "--", sys.executable, "--json")
    detail = cosched.json("task", "show", task["id"])
    assert detail["command"] == [sys.executable, "--json"]
    assert detail["profile"]["seconds"] == [50.0, None, 30.0]
    assert detail["directory"]


def test_a_dry_run_says_what_would_come_of_it(cosched: Cosched) -> None:
    code, out, _ = cosched("task", "submit", "halving", "--deadline", "now+1h", "--dry-run")
    assert code == 0
    assert "prediction:    1 min 20 s on 1 host, at best 10 s on 8 hosts" in out
    assert "met as things stand" in out
    assert cosched.json("task", "submit", "halving", "--dry-run")["meets_deadline"] is None
    assert "has no model" in cosched("task", "submit", "plain", "--dry-run")[1]
    assert "the first of 3 tasks" in cosched("task", "submit", "plain", "--count", "3", "--dry-run")[2]
    assert cosched.json("task", "list")["total"] == 0


def test_json_has_the_names_of_the_api(cosched: Cosched) -> None:
    assert cosched.json("task", "submit", "halving")["id"] == "1"
    page = cosched.json("task", "list", "--state", "queued", "--limit", "1")
    assert (page["total"], page["limit"], page["tasks"][0]["application"]) == (1, 1, "halving")
    assert set(cosched.json("task", "explain", "1")) >= {"waits_for", "planned_start", "slack", "would_change"}
    assert cosched.json("task", "cancel", "1")[0]["state"] == "cancelled"
    assert cosched.json("task", "show", "1")["log"][0]["kind"] == "submitted"


def test_waiting_gives_up_when_told(cosched: Cosched) -> None:
    cosched("task", "submit", "halving")
    code, out, _ = cosched("task", "wait", "1", "--timeout", "10ms")
    assert (code, out) == (1, "task 1 is queued\n")


def test_a_longer_list_is_announced(cosched: Cosched) -> None:
    for _ in range(3):
        cosched("task", "submit", "halving")
    code, out, err = cosched("task", "list", "--limit", "2")
    assert (code, len(out.splitlines())) == (0, 3)
    assert err == "cosched: 2 of 3 tasks shown (see --limit, --offset)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("task", "submit"), "name an application of the catalogue, or put a command after --"),
        (("task", "submit", "halving", "--", "/bin/true"), "halving is to be an application of the catalogue, and"),
        (("task", "submit", "halvign"), "no application 'halvign' (did you mean halving?)"),
        (("task", "submit", "halving", "--set", "work"), "--set 'work' is not NAME=VALUE"),
        (("task", "submit", "halving", "--set", "work=x"), "work is 'x': give a number from 1"),
        (("task", "submit", "halving", "--hosts", "99"), "hosts is 99, and halving can use 1 to 8 hosts"),
        (("task", "submit", "halving", "--deadline", "now+1s"), "the earliest deadline that can be met is"),
        (("task", "submit", "halving", "--deadline", "yesterday"), "'yesterday' is not a time: write now+2h30m"),
        (("task", "submit", "halving", "--profile", "1,x"), "--profile has 'x'"),
        (("task", "submit", "--", "no-such-program"), "there is no program 'no-such-program' here"),
        (("task", "submit", "halving", "--name", "a\nb"), "the task name contains '\\n'"),
        (("task", "show", "99"), "there is no task '99'"),
        (("task", "wait", "99"), "there is no task '99'"),
        (("task", "submit", "halving", "--count", "0"), "'--count': it must be greater than or equal to 1 (try"),
        (("plan", "q.json", "--policy", "foo"), "Invalid value for '--policy': 'foo' is not one of 'genetic', "),
        (("task", "submit", "halving", "--from", "none.txt"), "none.txt: cannot be read (No such file or directory): "),
        (("task", "list", "--state", "done"), "state is 'done': it must be 'queued'"),
        (("task", "show"), "Missing argument 'ID' (try 'cosched task show --help')"),
    ],
)
def test_mistakes_are_the_users_and_told_in_one_line(cosched: Cosched, words: tuple[str, ...], message: str) -> None:
    code, out, err = cosched(*words)
    assert (code, out) == (1, "")
    assert err.startswith("cosched: ")
    assert message in err
    assert err.count("\n") == 1


def test_an_assumption_about_the_zone_is_told(cosched: Cosched) -> None:
    code, out, err = cosched("task", "submit", "halving", "--deadline", "2030-01-31T18:00")
    assert (code, out) == (0, "task 1 (halving) accepted\n")
    assert err.startswith("cosched: the deadline is 2030-01-31 18:00:00")


def test_what_steers_a_terminal_is_shown_as_text(cosched: Cosched, daemon: Daemon) -> None:
    cosched("task", "submit", "--profile", "5", "--", "/bin/echo", "\x1b]0;owned\x07")
    assert "\x1b" not in cosched("task", "show", "1")[1]


def test_a_daemon_that_is_not_there_is_the_systems_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COSCHED_SERVER", f"unix:{tmp_path}/none.sock")
    assert run(["task", "list"]) == 2
    error = capsys.readouterr().err
    assert error == f"cosched: cosched is not running at unix:{tmp_path}/none.sock: start it with `cosched serve`\n"


def test_many_are_submitted_together(cosched: Cosched, tmp_path: Path) -> None:
    assert cosched("task", "submit", "--profile", "5", "--count", "2", "--name", "n", "--", "/bin/true") == (
        0,
        "task 1 (n.0) accepted\ntask 2 (n.1) accepted\narray 1: 1_0 1_1\n",
        "",
    )
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    made = cosched.json("task", "submit", "--profile", "5", "--from", str(lines), "--", "/bin/echo")
    assert [cosched.json("task", "show", task["id"])["command"] for task in made] == [
        ["/bin/echo", "one"],
        ["/bin/echo", "two"],
    ]
    assert (
        cosched("task", "submit", "--profile", "5", "--count", "101", "--", "/bin/true")[1]
        == "101 tasks accepted: 5 … 105, array 5\n"
    )
    assert cosched("task", "submit", "--count", "2", "--file", str(lines))[0] == 1


def test_an_array_is_named_after_its_first_task(cosched: Cosched) -> None:
    cosched("task", "submit", "halving")
    cosched("task", "submit", "halving", "--count", "3")
    cosched("task", "submit", "halving", "--count", "2")
    assert [task["id"] for task in cosched.json("task", "list", "--array", "2")["tasks"]] == ["4", "3", "2"]
    shown = cosched.json("task", "show", "2_1")
    assert (shown["id"], shown["array"], shown["array_index"]) == ("3", "2", 1)
    assert "array:       2, index 1" in cosched("task", "show", "3")[1]
    assert "task 3 is queued" in cosched("task", "explain", "2_1")[1]
    assert cosched("task", "hold", "2_1", "5_0")[1].endswith("task 3 is held\ntask 5 is held\n")
    assert (
        cosched("task", "cancel", "--array", "2")[1]
        == "task 2 is cancelled\ntask 3 is cancelled\ntask 4 is cancelled\n"
    )
    assert cosched("task", "show", "2_7")[0] == 1
    cosched("task", "resubmit", "2_1")
    assert cosched.json("task", "show", "7")["array"] == ""


def test_a_part_of_an_array_runs_at_once(cosched: Cosched) -> None:
    cosched("task", "submit", "--profile", "5", "--array", "1-9:4%2", "--", "/bin/true")
    shown = cosched.json("task", "show", "1_5")
    assert (shown["id"], shown["array_index"], shown["array_at_most"]) == ("2", 5, 2)
    assert "array:       1, index 9, at most 2 at once" in cosched("task", "show", "3")[1]
    assert "1_9, at most 2 at once" in cosched("task", "list")[1]
    assert cosched("task", "submit", "--profile", "5", "--count", "3", "--at-most", "0", "--", "/bin/true")[0] == 0
    assert "--array=1-2%0" in cosched("task", "submit", "--array", "1-2%0", "--", "/bin/true")[2]


def test_waiting_tasks_are_edited_held_and_released(cosched: Cosched) -> None:
    for _ in range(2):
        cosched("task", "submit", "halving")
    assert cosched("task", "edit", "1", "--deadline", "now+9h", "--name", "night")[::2] == (0, "")
    assert cosched("task", "edit", "1", "--hosts", "2")[::2] == (0, "")
    assert [seconds is None for seconds in cosched.json("task", "show", "1")["profile"]["seconds"]] == [True, False]
    assert cosched("task", "edit", "1", "--runtime", "3:30m,4:20m")[::2] == (0, "")
    assert cosched.json("task", "show", "1")["profile"]["seconds"] == [None, None, 1800, 1200]
    assert cosched("task", "resubmit", "1", "--hosts", "3")[::2] == (0, "")
    assert cosched.json("task", "show", "3")["profile"]["seconds"] == [None, None, 1800]
    assert cosched("task", "hold", "1", "2")[1].endswith("task 1 is held\ntask 2 is held\n")
    found = cosched.json("task", "show", "1")
    assert (found["name"], found["state"], bool(found["held_by"])) == ("night", "queued", True)
    assert f"held by {found['held_by']}" in cosched("task", "list")[1]
    assert f"{found['held_by']} holds it" in cosched("task", "explain", "1")[1]
    assert cosched("task", "release", "1")[1].endswith("task 1 is released\n")
    assert [cosched.json("task", "show", each)["held_by"] != "" for each in ("1", "2")] == [False, True]
    assert cosched.json("audit", "list")[0]["action"] == "task released"


def test_of_several_tasks_those_that_have_ended_are_named_and_the_others_held(cosched: Cosched) -> None:
    for _ in range(2):
        cosched("task", "submit", "halving")
    cosched("task", "cancel", "1")
    refusal = "cosched: task 1 has ended: submit it again with other values\n"
    assert cosched("task", "hold", "1") == (1, "", refusal)
    code, out, err = cosched("task", "hold", "1", "2")
    assert (code, out.splitlines()[-1], err) == (1, "task 2 is held", refusal)
