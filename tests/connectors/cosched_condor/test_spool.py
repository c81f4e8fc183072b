"""The spool: scripts that pass everything on unchanged, and fences that hold."""

from __future__ import annotations

import os
import stat
import subprocess
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import Launch
from cosched.errors import UserError

if TYPE_CHECKING:
    from cosched_condor.spool import CondorAttemptFolders


def _launch(*command: str) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command, hosts=("node01", "node02"), count=2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4),
    st.text("ab\n'\"$`\\ "),
)
def test_arguments_and_environment_pass_the_shell_unchanged(
    attempts: CondorAttemptFolders, words: list[str], value: str
) -> None:
    command = ("/bin/sh", "-c", 'printf "%s\\0" "$MINE" "$@"', "sh", *words)
    launch = replace(_launch(*command), environment={"MINE": value})
    attempts.create(launch.attempt)
    output = subprocess.run([attempts.write_script(launch)], capture_output=True, check=True).stdout
    assert output == b"".join(word.encode() + b"\0" for word in (value, *words))


def test_the_script_shows_the_place_and_not_anothers(attempts: CondorAttemptFolders) -> None:
    launch = replace(_launch("/usr/bin/env"), environment={"COSCHED_RANK": "9", "COSCHED_TASK": "x"})
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    output = subprocess.run([script], env={"COSCHED_RANK": "1"}, capture_output=True, text=True, check=True).stdout
    seen = dict(line.split("=", 1) for line in output.splitlines())
    assert seen["COSCHED_RANK"] == "1"
    assert (seen["COSCHED_TASK"], seen["COSCHED_HOSTS"], seen["COSCHED_HOST_COUNT"]) == ("17", "node01,node02", "2")


def _machine(folder: Path, name: str) -> str:
    """Write what HTCondor tells a process of its host, and return the file's name."""
    ad = folder / f"{name}.ad"
    ad.write_text(f'OtherMachine = "x"\nMachine = "{name}"\nMachineResources = "Cpus"\n')
    return str(ad)


def test_a_single_process_is_told_the_host_that_the_manager_chose(
    attempts: CondorAttemptFolders, tmp_path: Path
) -> None:
    launch = replace(_launch("/usr/bin/env"), hosts=(), count=1)
    attempts.create(launch.attempt)
    given = {"COSCHED_RANK": "0", "_CONDOR_MACHINE_AD": _machine(tmp_path, "node07.example.org")}
    output = subprocess.run(
        [attempts.write_script(launch)], env=given, capture_output=True, text=True, check=True
    ).stdout
    seen = dict(line.split("=", 1) for line in output.splitlines())
    assert seen["COSCHED_HOSTS"] == "node07.example.org"
    assert Path(seen["COSCHED_HOST_FILE"]).read_text() == "node07.example.org\n"


def _begun(attempts: CondorAttemptFolders, launch: Launch, folder: Path) -> list[subprocess.Popen[str]]:
    script = attempts.write_script(launch)
    places = [{"COSCHED_RANK": str(rank), "_CONDOR_MACHINE_AD": _machine(folder, f"node{rank}")} for rank in range(2)]
    return [subprocess.Popen([script], env=place, stdout=subprocess.PIPE, text=True) for place in places]


def test_processes_anywhere_tell_each_other_their_hosts(attempts: CondorAttemptFolders, tmp_path: Path) -> None:
    launch = replace(
        _launch("/bin/sh", "-c", 'echo "$COSCHED_HOSTS $rank"'), hosts=(), environment={"rank": "mine", "host": "x"}
    )
    attempts.create(launch.attempt)
    processes = _begun(attempts, launch, tmp_path)
    assert [process.communicate()[0] for process in processes] == ["node0,node1 mine\n"] * 2


def test_a_process_runs_without_names_where_the_others_do_not_come(
    attempts: CondorAttemptFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that waits for another, which waits for it, would be lost."""
    monkeypatch.setattr("cosched_condor.spool._WAIT_FOR_HOSTS", 0.2)
    launch = replace(_launch("/bin/sh", "-c", 'echo "[$COSCHED_HOSTS]"'), hosts=(), count=2)
    attempts.create(launch.attempt)
    given = {"COSCHED_RANK": "1", "_CONDOR_MACHINE_AD": _machine(tmp_path, "node1")}
    done = subprocess.run([attempts.write_script(launch)], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_fenced_attempt_does_not_begin(attempts: CondorAttemptFolders, tmp_path: Path) -> None:
    launch = _launch("/usr/bin/touch", str(tmp_path / "ran"))
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    attempts.fence(launch.attempt)
    assert attempts.fenced(launch.attempt)
    assert subprocess.run([script], check=False).returncode == 143
    assert not (tmp_path / "ran").exists()


def test_processes_of_a_parallel_job_write_their_codes_down(attempts: CondorAttemptFolders) -> None:
    launch = _launch("/bin/sh", "-c", 'exit "$((COSCHED_RANK * 3))"')
    attempts.create(launch.attempt)
    assert attempts.codes(launch.attempt) == []
    script = attempts.write_script(launch, parallel=True)
    assert attempts.codes(launch.attempt) == [None, None]
    done = subprocess.run([script], env={"COSCHED_RANK": "1"}, check=False)
    assert done.returncode == 3
    assert attempts.codes(launch.attempt) == [None, 3]
    (attempts.folder(launch.attempt) / "code.0").write_text("rubbish\n")
    assert attempts.codes(launch.attempt) == [None, 3]


def test_a_job_makes_no_parallel_job_of_itself(attempts: CondorAttemptFolders) -> None:
    """It could name any number of processes, whose codes cosched would look for one by one."""
    if os.geteuid() != 0:
        pytest.skip("only root can write as another user")
    launch = _launch("/bin/true")
    attempts.create(launch.attempt)
    planted = attempts.folder(launch.attempt) / "processes"
    planted.write_text("999999999999999\n")
    os.chown(planted, 65534, -1)
    assert attempts.codes(launch.attempt) == []


def _carried(attempts: CondorAttemptFolders, launch: Launch, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a host does that has nothing but the script."""
    attempts.create(launch.attempt)
    script = attempts.write_script(launch, spooled=True)
    folder.mkdir()
    copy = folder / "run.sh"
    copy.write_text(script.read_text())
    return subprocess.run(
        ["/bin/sh", "run.sh"], cwd=folder, env={"COSCHED_RANK": "1"}, capture_output=True, text=True, check=False
    )


def test_a_carried_script_runs_in_the_directory_where_there_is_one(
    attempts: CondorAttemptFolders, tmp_path: Path
) -> None:
    there, scratch = tmp_path / "it's there", tmp_path / "scratch"
    there.mkdir()
    done = _carried(attempts, replace(_launch("/bin/pwd"), directory=str(there)), scratch)
    assert (done.stdout, done.stderr) == (f"{there}\n", "")
    done = _carried(attempts, replace(_launch("/bin/pwd"), directory="/no/such $(place)"), tmp_path / "other")
    assert done.stdout == f"{tmp_path / 'other'}\n"
    assert "there is no /no/such $(place) here" in done.stderr


def test_a_carried_script_leaves_word_of_its_preparation_where_files_come_back(
    attempts: CondorAttemptFolders, tmp_path: Path
) -> None:
    launch = replace(_launch("/bin/true"), prepare=("/bin/sh", "-c", "exit 3"), directory="/")
    assert _carried(attempts, launch, tmp_path / "scratch").returncode == 3
    assert (tmp_path / "scratch" / "unprepared.1").read_text() == "3\n"
    assert attempts.prepares(launch.attempt)
    assert (attempts.folder(launch.attempt) / "1").is_dir()


@pytest.mark.parametrize("program", ["-h", "--help"])
def test_a_program_that_looks_like_an_option_is_refused(attempts: CondorAttemptFolders, program: str) -> None:
    launch = _launch(program)
    attempts.create(launch.attempt)
    with pytest.raises(UserError, match="starts with '-'"):
        attempts.write_script(launch)


def test_an_attempt_has_one_folder(attempts: CondorAttemptFolders) -> None:
    assert attempts.create("a")
    assert not attempts.create("a")


@pytest.mark.parametrize("mode", [0o700, 0o770, 0o2770, 0o1777])
def test_folders_are_as_open_as_the_spool(attempts: CondorAttemptFolders, mode: int) -> None:
    attempts.root.chmod(mode)
    attempts.logs.current.unlink()
    attempts.prepare()
    attempts.create("a")
    assert stat.S_IMODE(attempts.folder("a").stat().st_mode) == mode
    assert stat.S_IMODE(attempts.logs.current.stat().st_mode) == mode & 0o666


def test_a_fence_needs_no_attempt_and_may_be_laid_twice(attempts: CondorAttemptFolders) -> None:
    assert not attempts.fenced("a")
    attempts.fence("a")
    attempts.fence("a")
    assert attempts.fenced("a")
    assert not attempts.create("a")


def test_an_attempt_is_as_old_as_its_script(attempts: CondorAttemptFolders) -> None:
    launch = _launch("/bin/true")
    assert attempts.created(launch.attempt) is None
    attempts.create(launch.attempt)
    assert attempts.created(launch.attempt) is None
    os.utime(attempts.write_script(launch), (0, 1000.0))
    assert attempts.created(launch.attempt) == 1000.0


def test_what_the_event_log_tells_outlives_a_restart(attempts: CondorAttemptFolders) -> None:
    attempts.logs.current.write_text("events")
    attempts.prepare()
    assert attempts.logs.current.read_text() == "events"


def test_a_spool_that_is_made_here_is_for_its_owner_alone(attempts: CondorAttemptFolders) -> None:
    """Scripts hold users' environments, and with them passwords."""
    attempts.create("a")
    for path in (attempts.root, attempts.logs.current, attempts.folder("a")):
        assert path.stat().st_mode & 0o077 == 0


def test_an_attempt_with_a_mailbox_is_told_where_it_is(attempts: CondorAttemptFolders) -> None:
    launch = replace(_launch("/bin/sh", "-c", 'echo "$COSCHED_MAILBOX"'), mailbox=True)
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    output = subprocess.run([script], env={"COSCHED_RANK": "0"}, capture_output=True, text=True, check=True).stdout
    assert output == f"{attempts.mailbox(launch.attempt)}\n"
    assert attempts.mailbox(launch.attempt).parent.parent == attempts.root  # where no job can move it
