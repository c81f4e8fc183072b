"""What is handed to Slurm: nothing that a user wrote may become an option, a directive or shell."""

from __future__ import annotations

import subprocess
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import Launch
from cosched.errors import UserError
from cosched_slurm.attempts import Attempts, Stamps
from cosched_slurm.settings import SlurmSettings
from cosched_slurm.submission import job_script, options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BAD = ("x\n#SBATCH --uid=0", "$(id)", "`id`", '"; rm -rf ~ #', "a\u202eb", "\ud800", "-h", "--wrap=id")


def _launch(*command: str, hosts: tuple[str, ...] = ("node02", "node01")) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command or ("/bin/true",), hosts=hosts, count=len(hosts) or 2)


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    return Attempts(tmp_path / "spool")


def _options(attempts: Attempts, launch: Launch, **table: str) -> Sequence[str]:
    read = SlurmSettings.read({"spool": str(attempts.root), **table})
    return options(launch, attempts.folder(launch.attempt), read)


def _run(script: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([script], env={"SLURM_JOB_ID": "4711", **environment}, capture_output=True, check=False)


def test_a_group_is_pinned_and_has_its_hosts_for_itself(attempts: Attempts) -> None:
    launch = _launch()
    given = _options(attempts, launch, partition="p", account="a", qos="q")
    assert {"--nodelist=node02,node01", "--nodes=2", "--ntasks=2", "--exclusive", "--no-requeue"} <= set(given)
    assert {"--partition=p", "--account=a", "--qos=q"} <= set(given)
    assert f"--comment=cosched:{launch.attempt}:2" in given
    assert not [option for option in given if option.startswith("--time")]


def test_without_hosts_nothing_is_pinned(attempts: Attempts) -> None:
    given = _options(attempts, _launch(hosts=()))
    assert not [option for option in given if "nodelist" in option or "partition" in option]
    assert "--nodes=2" in given


def test_a_time_limit_is_in_whole_seconds(attempts: Attempts) -> None:
    assert "--time=0:91" in _options(attempts, replace(_launch(), time_limit=90.2))


@pytest.mark.parametrize("value", _BAD)
@pytest.mark.parametrize("place", ["name", "directory", "hosts"])
def test_values_that_are_more_than_values_are_refused(attempts: Attempts, place: str, value: str) -> None:
    launch = replace(_launch(hosts=("node01",)), count=1)
    bad = replace(launch, hosts=(value,)) if place == "hosts" else replace(launch, **{place: value})  # type: ignore[arg-type]  # the place is one of text
    with pytest.raises(UserError):
        _options(attempts, bad)


@pytest.mark.parametrize("host", ["node[01-16]", "node01,node02", "/etc/hosts", "./list", "ALL nodes", "^file", ""])
def test_a_host_is_one_name(attempts: Attempts, host: str) -> None:
    with pytest.raises(UserError, match="host"):
        _options(attempts, replace(_launch(hosts=("node01",)), hosts=(host,)))


def test_one_process_needs_no_step(tmp_path: Path) -> None:
    assert "srun" not in job_script(1, tmp_path / "run.sh", "/usr/bin/srun")
    assert "exec '/usr/bin/srun' --nodes=3 --ntasks=3" in job_script(3, tmp_path / "run.sh", "/usr/bin/srun")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4),
    st.text("ab\n'\"$`\\ "),
)
def test_arguments_and_environment_pass_the_shell_unchanged(attempts: Attempts, words: list[str], value: str) -> None:
    command = ("/bin/sh", "-c", 'printf "%s\\0" "$MINE" "$@"', "sh", *words)
    launch = replace(_launch(*command, hosts=()), environment={"MINE": value, "rank": "7", "folder": "/"})
    attempts.create(launch.attempt)
    assert _run(attempts.write_script(launch), SLURM_PROCID="1").returncode == 0
    output = (attempts.folder(launch.attempt) / "out.1").read_bytes()
    assert output == b"".join(word.encode() + b"\0" for word in (value, *words))


def test_the_rank_is_the_place_in_the_list_of_hosts(attempts: Attempts) -> None:
    """Slurm numbers processes in its own order of hosts."""
    launch = replace(_launch("/usr/bin/env"), environment={"COSCHED_RANK": "9", "COSCHED_TASK": "x"})
    attempts.create(launch.attempt)
    _run(attempts.write_script(launch), SLURM_PROCID="0", SLURMD_NODENAME="node01")
    output = (attempts.folder(launch.attempt) / "out.1").read_text()
    seen = dict(line.split("=", 1) for line in output.splitlines())
    assert (seen["COSCHED_RANK"], seen["COSCHED_HOSTS"]) == ("1", "node02,node01")
    assert (seen["COSCHED_TASK"], seen["COSCHED_HOST_COUNT"]) == ("17", "2")


def test_stamps_tell_of_all_processes_or_of_none(attempts: Attempts) -> None:
    launch = _launch("/bin/sh", "-c", 'exit "$((COSCHED_RANK * 3))"')
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    assert attempts.stamps(launch.attempt) == Stamps()
    _run(script, SLURMD_NODENAME="node02")
    assert attempts.stamps(launch.attempt) == Stamps()
    before = attempts.changed(launch.attempt)
    assert _run(script, SLURMD_NODENAME="node01").returncode == 3
    assert attempts.changed(launch.attempt) != before
    stamps = attempts.stamps(launch.attempt)
    assert (stamps.code, stamps.job) == (3, "4711")
    assert stamps.started is not None
    assert stamps.finished is not None
    assert stamps.started <= stamps.finished


def test_a_stamp_that_is_being_written_is_none(attempts: Attempts) -> None:
    attempts.create("a")
    (attempts.folder("a") / "began.0").write_text("1795215377.5 4711 1")
    assert attempts.stamps("a") == Stamps()
    (attempts.folder("a") / "began.0").write_text("1795215377.5 4711 1\n")
    assert attempts.stamps("a") == Stamps(1795215377.5, job="4711")


def test_nothing_runs_twice(attempts: Attempts) -> None:
    launch = _launch("/bin/sh", "-c", "echo ran >> diary", hosts=())
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    assert [_run(script).returncode, _run(script).returncode] == [0, 143]
    assert (attempts.folder(launch.attempt) / "diary").read_text() == "ran\n"


def test_a_fenced_attempt_does_not_begin(attempts: Attempts, tmp_path: Path) -> None:
    launch = _launch("/usr/bin/touch", str(tmp_path / "ran"), hosts=())
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    attempts.fence(launch.attempt)
    assert _run(script).returncode == 143
    assert not (tmp_path / "ran").exists()
    assert attempts.stamps(launch.attempt) == Stamps()


def test_a_directory_that_is_not_there_fails_with_its_name(attempts: Attempts) -> None:
    launch = replace(_launch(hosts=()), directory="/no/such place")
    attempts.create(launch.attempt)
    assert _run(attempts.write_script(launch)).returncode == 126
    assert "/no/such place" in (attempts.folder(launch.attempt) / "err.0").read_text()
