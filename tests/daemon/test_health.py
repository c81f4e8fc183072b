from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from cosched.api.documents import HealthCheck
from cosched.daemon.health import HealthInspector, daemon_checks, disk_check
from cosched.daemon.mistakes import Mistakes
from cosched.daemon.processes.own_processes import own_processes
from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "ready", lambda: True)


def parts(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """Return what the checks look at, all of it well unless changed."""
    values: dict[str, Any] = {
        "silence": 0.1,
        "store_fault": "",
        "fault": "",
        "looked": 1.0,
        "overdue": 0,
        "remarks": (),
        "pid": 77,
        "search_ended": 0,
        "models_ended": 0,
        **changes,
    }
    configuration = SimpleNamespace(
        domain=SimpleNamespace(state=tmp_path),
        database=SimpleNamespace(url=f"sqlite:///{tmp_path}/cosched.db"),
        recorder=SimpleNamespace(folder=tmp_path / "recording" / "later"),
        connector=SimpleNamespace(kind="condor", table={"spool": str(tmp_path)}),
        planning=SimpleNamespace(policy="genetic"),
    )
    inbox = SimpleNamespace(silence=lambda: values["silence"], store_fault=values["store_fault"])
    manager = SimpleNamespace(
        fault=values["fault"],
        remarks=values["remarks"],
        calls=lambda: {"hosts": 3},
        looked_ago=lambda: values["looked"],
        actions=SimpleNamespace(overdue=lambda: values["overdue"]),
    )
    search = None if values["pid"] == -1 else SimpleNamespace(pid=values["pid"], ended=values["search_ended"])
    models = [SimpleNamespace(asked=4, ended=values["models_ended"])]
    (tmp_path / "cosched.db").write_bytes(b"x" * (3 << 20))
    checks = daemon_checks(*cast("Any", (configuration, inbox, manager, search, models)))
    return {check.part: check for check in (each() for each in checks)}


def test_where_all_is_well_nothing_is_to_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(100 * GIB, 0, 50 * GIB))
    found = parts(tmp_path)
    assert list(found) == ["Core", "Resource manager", "Search", "Models", "Database", "Disk"]
    assert {check.state for check in found.values()} == {"well"}
    assert {check.advice for check in found.values()} == {""}
    assert "hosts 3" in found["Resource manager"].finding
    assert "3 MiB" in found["Database"].finding
    assert found["Disk"].finding == "State, database, recordings, spool: 50 GiB of 100 GiB free."


def test_a_search_that_is_still_being_compiled_is_not_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine planned by the heuristic for half an hour, and nothing said so."""
    monkeypatch.setattr(kernel_cache, "ready", lambda: False)
    check = parts(tmp_path)["Search"]
    assert check.state == "watch"
    assert "being compiled: until then plans are those of the best heuristic" in check.finding
    assert "kernel_cache" in check.advice


@pytest.mark.parametrize(
    ("part", "changes", "state", "finding", "advice"),
    [
        ("Core", {"silence": 4.0}, "watch", "nothing for 4.0 s", "start cosched again"),
        ("Core", {"silence": 40.0}, "broken", "nothing for 40 s", "start cosched again"),
        ("Resource manager", {"fault": "no schedd"}, "broken", "No schedd.", "`condor_status -schedd`"),
        ("Resource manager", {"looked": 90.0}, "watch", "seen 1 min 30 s ago", "answers slowly"),
        (
            "Resource manager",
            {"remarks": ("the spool is open: close it",)},
            "watch",
            "hosts 3",
            "The spool is open: close it.",
        ),
        ("Resource manager", {"overdue": 3}, "well", "3 more questions wait", ""),
        ("Resource manager", {"looked": None}, "well", "have not been seen yet", ""),
        ("Search", {"pid": None, "search_ended": 2}, "broken", "It has died 2 times", "started again by itself"),
        ("Search", {"search_ended": 1}, "watch", "process 77", "killed for its memory"),
        ("Search", {"pid": -1}, "well", "genetic plans without one", ""),
        (
            "Models",
            {"models_ended": 1},
            "watch",
            "Predictions asked for: 4. Processes that had to be ended or died: 1",
            "too much memory",
        ),
        ("Database", {"store_fault": "the disk is full"}, "broken", "The disk is full.", "nothing accepted is lost"),
    ],
)
def test_each_part_that_is_not_well_says_what_to_do(
    tmp_path: Path, part: str, changes: dict[str, Any], state: str, finding: str, advice: str
) -> None:
    check = parts(tmp_path, **changes)[part]
    assert check.state == state
    assert finding in check.finding
    assert advice in check.advice


@pytest.mark.parametrize(
    ("total", "free", "state"),
    [
        (100 * GIB, 3 * GIB, "well"),
        (100 * GIB, GIB, "watch"),
        (2 * GIB, GIB, "well"),
        (100 * GIB, GIB >> 4, "broken"),
        (40 << 20, 39 << 20, "well"),  # a small disk with nothing on it
        (40 << 20, 1 << 20, "broken"),
    ],
)
def test_a_disk_with_little_room_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int, state: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(total, total - free, free))
    check = disk_check({"state": tmp_path, "recordings": tmp_path / "not" / "there yet"})
    assert check.state == state
    assert check.finding.count("free") == 1  # both stand on one disk
    assert bool(check.advice) == (state != "well")


def test_what_is_broken_stands_first_and_other_faults_become_checks() -> None:
    def broken() -> HealthCheck:
        raise ValueError("no such sensor")

    mistakes = Mistakes()
    for number in range(30):
        mistakes.note(f"event {number}", ValueError("secret of ann's"), float(number))
    well = HealthCheck(part="Database", state="well", finding="It works.")
    faults = ["database: known already", "peer far: no route to it", "clock: an hour ahead"]
    report = HealthInspector([lambda: well, broken], lambda: faults, mistakes, lambda: 9.0).report()
    assert [(check.part, check.state) for check in report.checks] == [
        ("Peer far", "broken"),
        ("Clock", "broken"),
        ("Broken", "watch"),
        ("Database", "well"),
    ]
    assert report.checks[0].finding == "No route to it."
    assert "no such sensor" in report.checks[2].finding
    assert [each.time for each in report.mistakes] == [float(number) for number in range(29, 9, -1)]
    assert "secret" not in str(report.mistakes)


def test_a_process_of_ones_own_is_found_with_its_purpose_until_it_ends() -> None:
    command = [sys.executable, "-c", "input()", "cosched.daemon.processes.planner"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        first, *others = own_processes()
        assert (first.pid, first.purpose) == (os.getpid(), "the daemon itself")
        assert first.memory > 1 << 20
        (found,) = (each for each in others if each.pid == process.pid)
        assert found.purpose == "search for better plans"
        assert abs(found.started - first.started) < 1e6
        assert process.stdin is not None
        process.stdin.write(b"\n")
    assert process.pid not in [each.pid for each in own_processes()]


def test_what_the_search_has_started_is_found_too() -> None:
    """Its exact partner may take gigabytes: an administrator looks for them here."""
    name = "'cosched.scheduling.' + 'exact.worker'"  # in parts: this process's own command line has it, too
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()', {name}])"
    command = [sys.executable, "-c", code, "cosched.daemon.processes.planner"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = [each for each in own_processes() if each.purpose == "proves how short plans can be"]
            if found:
                break
            time.sleep(0.1)
        assert process.stdin is not None
        process.stdin.write(b"\n")
    assert len(found) == 1
    assert found[0].pid != process.pid
