"""Lines of attempts' scripts, as a shell runs them."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.jobs import JobReport, JobState, Launch
from cosched.connector.script_lines import (
    export_lines,
    host_file_lines,
    prepared_command,
    with_preparation_failure,
)

if TYPE_CHECKING:
    from pathlib import Path

ODD = 'it\'s "odd" $HOME `id` \\ ; \n * ö'


def launch(*command: str, **fields: Any) -> Launch:
    return Launch("u", "7", "t", command, **fields)


def run(lines: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {"PATH": "/usr/bin:/bin", "COSCHED_RANK": "3", **environment}
    return subprocess.run(
        ["/bin/sh", "-c", lines], cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=240
    )


def test_variables_arrive_as_they_are(tmp_path: Path) -> None:
    made = launch("/x", environment={"ODD": ODD}, hosts=("h1", "h2"), count=2)
    done = run(f'{export_lines(made)}\nprintf %s "$ODD"; printf \'\\n%s\' "$COSCHED_HOSTS"', tmp_path)
    assert done.stdout == f"{ODD}\nh1,h2"


def test_hosts_that_the_manager_chooses_are_not_set(tmp_path: Path) -> None:
    done = run(f'{export_lines(launch("/x"))}\necho "$COSCHED_HOSTS"', tmp_path, COSCHED_HOSTS="h9")
    assert done.stdout == "h9\n"


def test_the_host_file_has_a_line_for_each_host(tmp_path: Path) -> None:
    folder = tmp_path / "of it's own"
    folder.mkdir()
    lines = f'{host_file_lines(shlex.quote(str(folder)))}\ncat "$COSCHED_HOST_FILE"'
    assert run(lines, tmp_path, COSCHED_HOSTS="h1,h2").stdout == "h1\nh2\n"


FAILED_THERE = "the preparation on rank 3 ended"


@pytest.mark.parametrize(("code", "printed", "reason"), [(0, "ran", "exit code 1"), (5, "", FAILED_THERE)])
def test_the_command_runs_only_where_its_preparation_succeeded(
    code: int, printed: str, reason: str, tmp_path: Path
) -> None:
    made = launch("/bin/echo", "ran", prepare=("/bin/sh", "-c", f"exit {code}"))
    done = run(prepared_command(made, shlex.quote(str(tmp_path))), tmp_path)
    assert (done.returncode, done.stdout.strip()) == (code, printed)
    report = JobReport("u", JobState.FAILED, reason="exit code 1", exit_code=code)
    assert with_preparation_failure(report, tmp_path).reason.startswith(reason)


def test_what_did_not_fail_had_its_preparation(tmp_path: Path) -> None:
    (tmp_path / "unprepared.0").write_text("1")  # of an attempt's process that was started once more
    report = JobReport("u", JobState.COMPLETED)
    assert with_preparation_failure(report, tmp_path) is report
