"""Slurm's commands, played by scripts that answer as a cluster in trouble does."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError
from cosched_slurm.commands import (
    QUEUE_FULL,
    CommandResult,
    InterferenceError,
    SlurmCommands,
    refusal_error,
    run_command,
)
from cosched_slurm.owners import OwnerAccount, owner_account
from cosched_slurm.slurm_settings import SlurmSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Play = Callable[..., SlurmCommands]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    def write(program: str, script: str, timeout: int = 60) -> SlurmCommands:
        file = tmp_path / program
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return SlurmCommands(SlurmSettings.read({"bin": str(tmp_path), "spool": str(tmp_path), "timeout": timeout}))

    return write


@pytest.mark.parametrize(
    "script",
    [
        "exit 0",
        'echo \'{"jobs": [{"job_id": 1\'',
        "echo 'slurm_load_jobs error' >&2; exit 0",
        "echo '{\"jobs\": null}'",
        "echo '{\"jobs\": [1]}'",
        "echo '[]'",
        "echo '{}'",
        'echo \'{"errors": [{"error": "no connection"}], "jobs": []}\'',
        "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1",
        "kill -9 $$",
        "exec sleep 60",
    ],
)
def test_no_list_is_an_error_that_may_pass_and_never_an_empty_queue(play: Play, script: str) -> None:
    with pytest.raises(ConnectorError, match="squeue") as refusal:
        play("squeue", script, 1 if "sleep" in script else 60).jobs()
    assert refusal.value.transient


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        # As 22.05 says it where slurmctld is gone.
        ('[{"error": "Unspecified error", "errno": -1}]', "squeue failed: is slurmctld well?"),
        ('[{"description": "no reply", "error": "Timed out"}]', "squeue failed: no reply: is slurmctld well?"),
        ('"odd"', "squeue failed: is slurmctld well?"),
    ],
)
def test_a_fault_is_told_in_slurms_words_and_not_in_pythons(play: Play, faults: str, said: str) -> None:
    with pytest.raises(ConnectorError) as refusal:
        play("squeue", f'echo \'{{"errors": {faults}, "jobs": []}}\'').jobs()
    assert str(refusal.value) == said


def test_an_empty_queue_is_empty(play: Play) -> None:
    assert play("squeue", 'echo \'{"errors": [], "jobs": []}\'').jobs() == []


def test_nodes_come_from_the_command_that_has_them(play: Play) -> None:
    assert play("scontrol", 'echo \'{"nodes": [{"name": "a"}]}\'').nodes() == [{"name": "a"}]
    play("scontrol", "echo \"scontrol: unrecognized option '--json'\" >&2; exit 1")
    old = play("sinfo", 'echo \'{"nodes": [{"name": "b"}]}\'')
    assert old.nodes() == [{"name": "b"}]
    play("scontrol", "echo down >&2; exit 1")
    assert old.nodes() == [{"name": "b"}]


@pytest.mark.parametrize(
    ("message", "transient"),
    [
        ("sbatch: error: Batch job submission failed: Invalid node name specified", False),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", False),
        (
            "sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)",
            True,  # it is closed for maintenance: every task whose turn came meanwhile had failed for good
        ),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", True),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
    ],
)
def test_a_refusal_says_whether_to_try_again(play: Play, message: str, transient: bool) -> None:
    with pytest.raises(ConnectorError, match="sbatch failed") as refusal:
        play("sbatch", f"echo '{message}' >&2; exit 1").submit([])
    assert refusal.value.transient is transient


def test_sbatch_that_waits_for_room_is_ended_and_has_certainly_submitted_nothing(play: Play) -> None:
    script = "echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying' >&2"
    with pytest.raises(ConnectorError, match=r"takes no more jobs for now.*sleeping") as refusal:
        play("sbatch", f"{script}; exec sleep 60").submit([])
    assert (refusal.value.transient, refusal.value.refused) == (True, True)


@pytest.mark.parametrize("answer", ["", "Submitted", "-1", "4711x"])
def test_an_answer_without_a_number_is_an_error(play: Play, answer: str) -> None:
    with pytest.raises(ConnectorError, match="no job number"):
        play("sbatch", f"echo '{answer}'").submit([])


def test_the_number_comes_without_the_cluster(play: Play) -> None:
    assert play("sbatch", "echo '4711;east'").submit([]) == "4711"


def test_nothing_of_our_environment_reaches_a_job(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "other")
    monkeypatch.setenv("MY_SECRET", "x")
    monkeypatch.setenv("TZ", "UTC")
    with pytest.raises(ConnectorError) as refusal:
        play("scancel", "env >&2; exit 1").cancel(["1"])
    assert "TZ=UTC" in str(refusal.value)
    assert "MY_SECRET" not in str(refusal.value)
    assert "SBATCH" not in str(refusal.value)


def test_a_missing_program_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match=r"no program squeue.*bin"):
        SlurmCommands(SlurmSettings.read({"bin": str(tmp_path), "spool": str(tmp_path)})).jobs()


def test_a_cluster_without_accounting_is_asked_for_it_once(play: Play) -> None:
    commands = play("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert commands.accounting(60) is None
    assert commands.accounting(60) is None
    assert commands.calls == {"sacct": 1}


def test_accounting_that_does_not_answer_is_not_taken_for_none(play: Play) -> None:
    commands = play("sacct", "echo 'sacct: error: slurmdbd: Connection refused' >&2; exit 1")
    for _ in range(2):
        with pytest.raises(ConnectorError, match="Connection refused") as refusal:
            commands.accounting(60)
        assert refusal.value.transient


def test_accounting_is_asked_for_whole_jobs_in_a_form_for_programs(play: Play) -> None:
    assert play("sacct", 'echo "$SLURM_TIME_FORMAT $*"').accounting(60) == [
        (
            "%s --allocations --noheader --parsable2 "
            "--format=JobID,State,ExitCode,Start,End,NNodes,NodeList,WorkDir --starttime=now-60"
        )
    ]


_POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


@pytest.mark.parametrize(
    "words",
    [
        f"sbatch: error: {limit} sbatch: error: Batch job submission failed: {_POLICY}"
        for limit in (
            "AssocMaxSubmitJobLimit",
            "AssocGrpSubmitJobsLimit",
            "QOSGrpSubmitJobsLimit",
            "QOSMaxSubmitJobPerUserLimit",
            "MaxSubmitJobsPerAccount",
        )
    ]
    + [_POLICY, "Resource temporarily unavailable"],
)
def test_a_limit_on_how_many_wait_and_run_passes_by_itself(words: str) -> None:
    error = refusal_error("sbatch failed", words, submitting=True)
    assert (error.transient, error.refused) == (True, True)
    assert str(error) == f"Slurm takes no more jobs for now: {words}"


@pytest.mark.parametrize("limit", ["QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit"])
def test_a_job_that_is_too_large_never_goes(limit: str) -> None:
    error = refusal_error("sbatch failed", f"sbatch: error: {limit} sbatch: error: {_POLICY}", submitting=True)
    assert (error.transient, error.refused) == (False, False)


def test_more_ranks_on_a_node_than_it_has_cores_are_told_what_to_do() -> None:
    words = "sbatch: error: CPU count per node can not be satisfied sbatch: error: Batch job submission failed"
    error = refusal_error("sbatch failed", words, submitting=True)
    assert str(error).startswith(f"sbatch failed: {words}: its nodes have fewer cores")
    assert "ask for fewer ranks on a host (--processes-per-host) or for more hosts" in str(error)


def test_what_is_not_a_submission_is_never_refused_for_good() -> None:
    error = refusal_error("scancel failed", "Access/permission denied", submitting=False)
    assert (error.transient, error.refused) == (True, False)


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        (b"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n", True),
        (b"sbatch: error: Slurm job queue full, sleeping and retrying\n", True),
        (b"sbatch: Job creation temporarily disabled, retrying\n", True),
        (b"sbatch: lua: do not go on sleeping and retrying here\n", False),
    ],
)
def test_sbatch_says_that_it_waits_for_room(line: bytes, waits: bool) -> None:
    assert bool(QUEUE_FULL.search(line)) is waits


def test_all_of_a_commands_output_and_words_come_back_with_its_code() -> None:
    done = run_command(["/bin/sh", "-c", "seq 100000; echo ' a\n b ' >&2; exit 3"], {"PATH": "/usr/bin:/bin"}, 60.0)
    assert (done.code, done.error_text, done.interrupted) == (3, "a b", False)
    assert done.output.endswith("\n100000\n")


def test_a_command_is_ended_at_the_words_that_are_waited_for() -> None:
    began = time.monotonic()
    done = run_command(
        ["/bin/sh", "-c", "echo no >&2; echo wait >&2; exec sleep 600"],
        {"PATH": "/usr/bin:/bin"},
        300.0,
        re.compile(rb"^wait$", re.MULTILINE),
    )
    assert done.interrupted
    assert 0.0 < done.seconds <= time.monotonic() - began < 300.0


@pytest.mark.parametrize("script", ["exec sleep 60", "exec sleep 60 >&- 2>&-", "sleep 60 & exit 0"])
def test_a_command_that_takes_too_long_is_ended(script: str) -> None:
    with pytest.raises(TimeoutError):
        run_command(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, 0.2)


_LONG = 600.0  # seconds: what ends sooner was not waited for


@pytest.fixture
def nobody() -> OwnerAccount:
    if os.geteuid() != 0:
        pytest.skip("only root may run a command as another user")
    return owner_account("nobody", 1000)


def _run_as(user: OwnerAccount, script: str) -> CommandResult:
    return run_command(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, _LONG, user=user)


def test_a_command_runs_as_its_user_with_all_of_their_groups(nobody: OwnerAccount) -> None:
    done = _run_as(nobody, "id -u; id -g; id -G; grep Cap /proc/self/status; pwd")
    uid, gid, groups, *rights, folder = done.output.splitlines()
    assert (int(uid), int(gid), {int(group) for group in groups.split()}) == (
        nobody.uid,
        nobody.gid,
        set(nobody.groups),
    )
    assert {line.split()[1] for line in rights if not line.startswith("CapBnd")} == {"0" * 16}
    assert folder == "/"


def test_a_command_that_its_user_stops_is_ended_at_once(nobody: OwnerAccount) -> None:
    with pytest.raises(InterferenceError, match="stopped"):
        _run_as(nobody, "kill -STOP $$; echo 4711")


def test_a_user_who_stops_a_command_before_it_begins_holds_nobody_up(nobody: OwnerAccount) -> None:
    stopper = replace(nobody, uid=61234)  # nobody's: what follows signals every process of this number but itself
    script = "while :; do kill -STOP -1; done 2>/dev/null"
    with subprocess.Popen(["/bin/sh", "-c", script], user=stopper.uid) as enemy:
        try:
            found = {_tried(stopper) for _ in range(15)}
        finally:
            enemy.kill()
    assert found <= {"ran", "stopped"}


def _tried(user: OwnerAccount) -> str:
    try:
        return "ran" if _run_as(user, "echo 4711").output == "4711\n" else "lost"
    except InterferenceError:
        return "stopped"


def test_a_submission_that_its_user_stops_is_tried_again(play: Play, nobody: OwnerAccount) -> None:
    user = replace(nobody, uid=os.geteuid())  # the folder of this test lets nobody else in
    with pytest.raises(ConnectorError, match="looked for and tried again") as stopped:
        play("sbatch", "kill -STOP $$; echo 4711").submit(["job.sh"], user)
    assert stopped.value.transient


def test_a_user_who_keeps_the_pipes_of_a_command_holds_nobody_up(nobody: OwnerAccount) -> None:
    done = _run_as(nobody, "(sleep 60; echo late) & echo 4711")
    assert (done.code, done.output) == (0, "4711\n")


def test_a_user_who_fills_the_pipes_of_a_command_fills_no_memory(nobody: OwnerAccount) -> None:
    with pytest.raises(InterferenceError, match="wrote more than"):
        _run_as(nobody, "exec yes")


def test_a_command_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_command(["/nowhere/sbatch"], {}, 1.0)
