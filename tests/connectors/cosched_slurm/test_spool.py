"""The spool: what runs is what was given, once, and its stamps tell of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import Launch, LaunchMode
from cosched.errors import UserError
from cosched_slurm.spool import UNSTAMPED, ProcessStamps, SlurmAttemptFolders


def _launch(*command: str, hosts: tuple[str, ...] = ("node02", "node01")) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command or ("/bin/true",), hosts=hosts, count=len(hosts) or 1)


@pytest.fixture
def attempts(tmp_path: Path) -> SlurmAttemptFolders:
    return SlurmAttemptFolders(tmp_path / "spool")


def _run(script: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([script], env={"SLURM_JOB_ID": "4711", **environment}, capture_output=True, check=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4),
    st.text("ab\n'\"$`\\ "),
)
def test_arguments_and_environment_pass_the_shell_unchanged(
    attempts: SlurmAttemptFolders, words: list[str], value: str
) -> None:
    command = ("/bin/sh", "-c", 'printf "%s\\0" "$MINE" "$@"', "sh", *words)
    launch = replace(_launch(*command, hosts=()), environment={"MINE": value, "rank": "7", "folder": "/"})
    attempts.create(launch.attempt)
    assert _run(attempts.write_script(launch), SLURM_PROCID="1").returncode == 0
    output = (attempts.folder(launch.attempt) / "out.1").read_bytes()
    assert output == b"".join(word.encode() + b"\0" for word in (value, *words))


def test_the_rank_is_the_place_in_the_list_of_hosts(attempts: SlurmAttemptFolders) -> None:
    """Slurm numbers processes in its own order of hosts."""
    launch = replace(_launch("/usr/bin/env"), environment={"COSCHED_RANK": "9", "COSCHED_TASK": "x"})
    attempts.create(launch.attempt)
    _run(attempts.write_script(launch), SLURM_PROCID="0", SLURMD_NODENAME="node01")
    output = (attempts.folder(launch.attempt) / "out.1").read_text()
    seen = dict(line.split("=", 1) for line in output.splitlines())
    assert (seen["COSCHED_RANK"], seen["COSCHED_HOSTS"]) == ("1", "node02,node01")
    assert (seen["COSCHED_TASK"], seen["COSCHED_HOST_COUNT"]) == ("17", "2")


def _seen(attempts: SlurmAttemptFolders, launch: Launch, rank: int = 0) -> dict[str, str]:
    output = (attempts.folder(launch.attempt) / f"out.{rank}").read_text()
    return dict(line.split("=", 1) for line in output.splitlines())


def test_pinned_hosts_stand_in_the_host_file_whatever_the_users_variables_are(attempts: SlurmAttemptFolders) -> None:
    launch = replace(_launch("/usr/bin/env"), environment={"folder": "/nowhere", "rank": "7", "IFS": "o"})
    attempts.create(launch.attempt)
    assert _run(attempts.write_script(launch), SLURMD_NODENAME="node01").returncode == 0
    seen = _seen(attempts, launch, 1)
    assert (seen["COSCHED_RANK"], seen["rank"], seen["IFS"]) == ("1", "7", "o")
    assert Path(seen["COSCHED_HOST_FILE"]).read_text() == "node02\nnode01\n"


@pytest.mark.parametrize("told", [None, "node03,node05"])
def test_hosts_that_slurm_chose_are_shown(attempts: SlurmAttemptFolders, told: str | None) -> None:
    """The job's script has asked for several; a single one says its name itself."""
    launch = _launch("/usr/bin/env", hosts=())
    attempts.create(launch.attempt)
    given = {} if told is None else {"COSCHED_HOSTS": told}
    assert _run(attempts.write_script(launch), SLURMD_NODENAME="node03", **given).returncode == 0
    seen = _seen(attempts, launch)
    assert seen["COSCHED_HOSTS"] == (told or "node03")
    assert Path(seen["COSCHED_HOST_FILE"]).read_text().splitlines() == (told or "node03").split(",")


@pytest.mark.parametrize(
    ("allocated", "given", "bound"),
    [
        (0, {}, "none"),
        (1 << 16, {}, None),
        (None, {}, None),
        (0, {"PRTE_MCA_hwloc_default_binding_policy": "core"}, "core"),
    ],
)
def test_ranks_are_bound_to_no_core_where_slurm_confines_no_job(
    attempts: SlurmAttemptFolders, allocated: int | None, given: dict[str, str], bound: str | None
) -> None:
    """The first ranks of all jobs of a host took turns on one of its processors."""
    launch = replace(_launch("/usr/bin/env", hosts=()), launch=LaunchMode.ONCE, environment=given)
    attempts.create(launch.attempt)
    told = {} if allocated is None else {"SLURM_CPUS_ON_NODE": str(allocated)}
    assert _run(attempts.write_script(launch), SLURMD_NODENAME="node03", OMP_NUM_THREADS="1", **told).returncode == 0
    assert _seen(attempts, launch).get("PRTE_MCA_hwloc_default_binding_policy") == bound


def test_stamps_tell_of_all_processes_or_of_none(attempts: SlurmAttemptFolders) -> None:
    launch = _launch("/bin/sh", "-c", 'exit "$((COSCHED_RANK * 3))"')
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    assert attempts.stamps(launch.attempt) == ProcessStamps()
    _run(script, SLURMD_NODENAME="node02")
    assert attempts.stamps(launch.attempt) == ProcessStamps()
    before = attempts.changed(launch.attempt)
    assert _run(script, SLURMD_NODENAME="node01").returncode == 3
    assert attempts.changed(launch.attempt) != before
    stamps = attempts.stamps(launch.attempt)
    assert (stamps.code, stamps.job) == (3, "4711")
    assert stamps.started is not None
    assert stamps.finished is not None
    assert stamps.started <= stamps.finished


def test_a_stamp_that_is_being_written_is_none(attempts: SlurmAttemptFolders) -> None:
    attempts.create("a")
    (attempts.folder("a") / "began.0").write_text("1795215377.5 4711 1")
    assert attempts.stamps("a") == ProcessStamps()
    (attempts.folder("a") / "began.0").write_text("1795215377.5 4711 1\n")
    assert attempts.stamps("a") == ProcessStamps(1795215377.5, job="4711", count=1)


def test_nothing_runs_twice(attempts: SlurmAttemptFolders) -> None:
    launch = _launch("/bin/sh", "-c", "echo ran >> diary", hosts=())
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    assert [_run(script).returncode, _run(script).returncode] == [0, 143]
    assert (attempts.folder(launch.attempt) / "diary").read_text() == "ran\n"


def test_what_a_full_disk_keeps_from_its_stamp_does_not_run_and_says_why(attempts: SlurmAttemptFolders) -> None:
    launch = _launch("/bin/sh", "-c", "echo ran >> diary", hosts=())
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    (attempts.folder(launch.attempt) / "began.0").symlink_to("/dev/full")
    ended = _run(script)
    assert ended.returncode == UNSTAMPED
    assert b"is its disk full" in ended.stderr
    assert not (attempts.folder(launch.attempt) / "diary").exists()


def test_a_fenced_attempt_does_not_begin(attempts: SlurmAttemptFolders, tmp_path: Path) -> None:
    launch = _launch("/usr/bin/touch", str(tmp_path / "ran"), hosts=())
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    attempts.fence(launch.attempt)
    assert _run(script).returncode == 143
    assert not (tmp_path / "ran").exists()
    assert attempts.stamps(launch.attempt) == ProcessStamps()


def test_a_directory_that_is_not_there_fails_with_its_name(attempts: SlurmAttemptFolders) -> None:
    launch = replace(_launch(hosts=()), directory="/no/such place")
    attempts.create(launch.attempt)
    assert _run(attempts.write_script(launch)).returncode == 126
    assert "/no/such place" in (attempts.folder(launch.attempt) / "err.0").read_text()


def test_others_see_nothing_of_an_attempt(attempts: SlurmAttemptFolders) -> None:
    launch = replace(_launch(), environment={"SECRET": "x"})
    attempts.create(launch.attempt)
    attempts.write_script(launch)
    for path in (attempts.root, attempts.folder(launch.attempt)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_jobs_user_reads_its_scripts_and_cannot_write_them(attempts: SlurmAttemptFolders) -> None:
    launch = _launch()
    attempts.create(launch.attempt)
    assert stat.S_IMODE(attempts.write_script(launch).stat().st_mode) == 0o755


@pytest.mark.parametrize("name", ["began.0", "ended.0"])
def test_a_pipe_in_place_of_a_stamp_holds_nobody_up(attempts: SlurmAttemptFolders, name: str) -> None:
    attempts.create("a")
    os.mkfifo(attempts.folder("a") / name)
    assert attempts.stamps("a") == ProcessStamps()


def test_a_huge_stamp_is_not_read(attempts: SlurmAttemptFolders) -> None:
    attempts.create("a")
    with (attempts.folder("a") / "began.0").open("w") as stamp:
        stamp.truncate(1 << 40)  # sparse: it takes no room on the disk, and would in memory
    assert attempts.stamps("a") == ProcessStamps()


@pytest.mark.parametrize("program", ["-h", "--help"])
def test_a_program_that_looks_like_an_option_is_refused(attempts: SlurmAttemptFolders, program: str) -> None:
    launch = _launch(program)
    attempts.create(launch.attempt)
    with pytest.raises(UserError, match="starts with '-'"):
        attempts.write_script(launch)


def test_an_attempt_has_one_folder(attempts: SlurmAttemptFolders) -> None:
    assert not attempts.known("a")
    assert attempts.create("a")
    assert not attempts.create("a")
    assert attempts.known("a")
    assert attempts.changed("b") == 0


@pytest.mark.parametrize("text", ["x y z\n", "nan 4711 many\n", "1.5 4711 999999999 n\n", "\x00\n"])
def test_a_stamp_that_makes_no_sense_is_none(attempts: SlurmAttemptFolders, text: str) -> None:
    attempts.create("a")
    (attempts.folder("a") / "began.0").write_text(text)
    assert attempts.stamps("a") == ProcessStamps()


@pytest.mark.parametrize(
    "text",
    ["5\n", "\n \n", "nan 0\n", "inf 0\n", "-1 0\n", "1e300 0\n", "2.5 1e3\n", "2.5 -1\n", f"2.5 {'9' * 4000}\n"],
)
def test_an_end_that_makes_no_sense_is_none(attempts: SlurmAttemptFolders, text: str) -> None:
    """One word in its place kept the ends of all jobs of the domain from being heard of."""
    attempts.create("a")
    (attempts.folder("a") / "began.0").write_text("1.5 4711 1\n")
    (attempts.folder("a") / "ended.0").write_text(text)
    assert attempts.stamps("a").code is None


def test_a_job_that_claims_more_processes_than_it_has_is_not_believed(attempts: SlurmAttemptFolders) -> None:
    """It can make files for a million of them, which would be read again and again."""
    attempts.create("a")
    for rank in range(3):
        (attempts.folder("a") / f"began.{rank}").write_text("1.5 4711 3\n")
    assert attempts.stamps("a", 3).started == 1.5
    assert attempts.stamps("a", 2) == ProcessStamps()


_LEASE = """\
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
handle = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print(flush=True)
sys.stdin.read()
"""


def test_a_stamp_that_its_job_keeps_by_a_lease_holds_nobody_up(attempts: SlurmAttemptFolders) -> None:
    attempts.create("a")
    stamp = attempts.folder("a") / "began.0"
    stamp.write_text("1.5 4711 1\n")
    command = [sys.executable, "-S", "-c", _LEASE, str(stamp)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        assert job.stdout is not None
        if not job.stdout.readline():
            pytest.skip("this file system knows no leases")
        kept = attempts.stamps("a")
        job.communicate()
    assert kept == ProcessStamps()
    assert attempts.stamps("a").started == 1.5


@pytest.mark.parametrize(
    ("log", "lost"),
    [
        ("slurmstepd: error: execve(): /var/spool/slurmd/job00917/slurm_script: No such file or directory\n", True),
        ("slurmstepd-n1: error: execve(): /d/n1/job00917/slurm_script: No such file or directory\n", True),
        ("slurmstepd: error: execve(): /home/ann/program: No such file or directory\n", False),
        ("", False),
        (None, False),
    ],
)
def test_slurms_log_tells_of_a_lost_script(attempts: SlurmAttemptFolders, log: str | None, *, lost: bool) -> None:
    attempt = str(uuid.uuid4())
    attempts.create(attempt)
    if log is not None:
        (attempts.folder(attempt) / "slurm.log").write_text(log)
    assert attempts.script_lost(attempt) is lost


def test_an_attempt_with_a_mailbox_is_told_where_it_is(attempts: SlurmAttemptFolders) -> None:
    launch = replace(_launch("/bin/sh", "-c", 'echo "$COSCHED_MAILBOX"'), mailbox=True)
    attempts.create(launch.attempt)
    _run(attempts.write_script(launch), SLURMD_NODENAME="node02")
    output = (attempts.folder(launch.attempt) / "out.0").read_text()
    assert output == f"{attempts.mailbox(launch.attempt)}\n"
    assert attempts.mailbox(launch.attempt).parent.parent == attempts.root  # where no job can move it
