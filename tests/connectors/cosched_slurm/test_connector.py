"""What the connector does with answers that the tests' cluster does not give; the rest is the contract's, on that."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobState, Launch, NativeDescription
from cosched.connector.jobs import LaunchMode
from cosched.connector.spool import AttemptFolders
from cosched.errors import UserError
from cosched_slurm.connector import SlurmConnector

if TYPE_CHECKING:
    from pathlib import Path

_SBATCH = """\
#!/bin/sh
size=1
for option in "$@"; do
    case $option in --array=*) size=$((${{option#--array=0-}} + 1));; esac
done
echo "$size" >> {calls}
[ "$size" -le {largest} ] || {{ echo "Batch job submission failed: Invalid job array specification" >&2; exit 1; }}
taken=$(($(cat {taken}) + size))
[ "$taken" -le {room} ] || {{ echo "Job violates accounting/QOS policy" >&2; exit 1; }}
echo "$taken" | tee {taken}
"""


@pytest.mark.parametrize("identity", ["daemon", "account"])
def test_an_account_that_slurm_does_not_know_is_remarked_on(tmp_path: Path, identity: str) -> None:
    """Every task failed for good when it was submitted."""
    _connector(tmp_path)
    asked = tmp_path / "asked"
    program = tmp_path / "bin" / "sbatch"
    refusal = "Batch job submission failed: Invalid account or account/partition combination specified"
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\necho "sbatch: error: {refusal}" >&2\nexit 1\n')
    table = {"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin"), "account": "nobody", "identity": identity}
    connector = SlurmConnector(table)
    for _ in range(3):
        found = [("--account=nobody" in remark, "Invalid account" in remark) for remark in connector.remarks()]
        assert found == ([(True, True)] if identity == "daemon" else [])
    assert not asked.exists() or asked.read_text() == "--test-only --account=nobody --wrap=true\n"


def test_an_account_that_slurm_takes_is_asked_for_once(tmp_path: Path) -> None:
    _connector(tmp_path)
    asked = tmp_path / "asked"
    (tmp_path / "bin" / "sbatch").write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    connector = SlurmConnector({"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin"), "qos": "high"})
    assert [connector.remarks() for _ in range(3)] == [[], [], []]
    assert asked.read_text() == "--test-only --qos=high --wrap=true\n"


def test_a_completion_file_that_is_not_there_is_remarked_on(tmp_path: Path) -> None:
    """It was told of when an attempt was looked for in it."""
    _connector(tmp_path)
    file = tmp_path / "completions"
    table = {"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin")}
    connector = SlurmConnector({**table, "completions": str(file)})
    assert ["name the JobCompLoc" in remark for remark in connector.remarks()] == [True]
    file.touch()
    assert connector.remarks() == []
    assert SlurmConnector(table).remarks() == []


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("count", [1, 4])
def test_tasks_wait_where_the_domains_reservation_is_over(tmp_path: Path, count: int, *, own: bool) -> None:
    """All of them failed, one after another, until it was there again; one that its task names is the task's fault."""
    _connector(tmp_path)
    refusal = "sbatch: error: Batch job submission failed: Requested reservation is invalid"
    (tmp_path / "bin" / "sbatch").write_text(f'#!/bin/sh\necho "{refusal}" >&2\nexit 1\n')
    table = {"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin"), "reservation": "nightly"}
    native = NativeDescription("slurm", {"reservation": "theirs"}, "#!/bin/sh\n") if own else None
    launches = [replace(launch, native=native) for launch in _launches(count)]
    found = SlurmConnector(table).submit_many(launches)
    faults = [one for one in found.values() if isinstance(one, ConnectorError)]
    assert [fault.transient for fault in faults] == count * [not own]


def test_a_task_is_tried_again_whose_host_has_just_been_taken_out_of_the_cluster(tmp_path: Path) -> None:
    """A node was renamed in the moment between a look at the nodes and the submit: the task failed for good."""
    _connector(tmp_path)
    refusal = "sbatch: error: Batch job submission failed: Invalid node name specified"
    (tmp_path / "bin" / "sbatch").write_text(f'#!/bin/sh\necho "{refusal}" >&2\nexit 1\n')
    connector = SlurmConnector({"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin")})
    (launch,) = _launches(1)
    with pytest.raises(ConnectorError, match="Invalid node name") as fault:
        connector.submit(replace(launch, hosts=("n1",)))
    assert (fault.value.transient, fault.value.refused) == (True, False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may submit for other users")
def test_a_task_waits_while_its_owner_is_not_known(tmp_path: Path) -> None:
    """The directory of users was away for a minute: all tasks whose turn came meanwhile failed for good."""
    _connector(tmp_path)
    connector = SlurmConnector({"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin"), "identity": "user"})
    with pytest.raises(UserError, match="no user 'nobody-of-that-name'"):
        connector.check_task("nobody-of-that-name", LaunchMode.EACH)
    (launch,) = _launches(1)
    with pytest.raises(ConnectorError, match=r"no user .* the task waits") as fault:
        connector.submit(replace(launch, owner="nobody-of-that-name"))
    assert (fault.value.transient, fault.value.refused) == (True, True)


def test_jobs_of_another_cluster_or_of_other_users_are_elsewhere(tmp_path: Path) -> None:
    """With the same spool a daemon began beside either, did not find its jobs, and ran their tasks a second time."""
    table = {"spool": str(tmp_path / "spool")}
    named = []
    for name in ("old.conf", "new.conf"):
        (tmp_path / name).touch()
        named.append({**table, "config": str(tmp_path / name)})
    users = [{**table, "identity": "user"}] if os.geteuid() == 0 else []
    tables = [table, *named, *users]
    assert len({SlurmConnector(each).home for each in tables}) == len(tables)
    assert SlurmConnector({**table, "identity": "account"}).home == SlurmConnector(table).home  # all are its own user's


@pytest.mark.parametrize("period", [3600.0, 0.0])
def test_an_end_that_slurm_has_forgotten_is_told_however_long_no_daemon_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, period: float
) -> None:
    """Its folder with the stamps, which alone told of it, was deleted just before they were read."""
    monkeypatch.setattr("cosched.connector.spool_pruning._PRUNING_PERIOD", period)
    connector = _connector(tmp_path)
    (launch,) = _launches(1)
    connector.submit(launch)
    connector.close()
    folder = tmp_path / "spool" / launch.attempt
    for name, text in {"began.0": "901.5 4711 1\n", "ended.0": "902.5 0\n"}.items():
        (folder / name).write_text(text)
    os.utime(folder, (0, time.time() - 8 * 86400))
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\necho '{\"jobs\": []}'\n")
    (tmp_path / "bin" / "squeue").chmod(0o755)
    again = SlurmConnector({"spool": str(tmp_path / "spool"), "bin": str(tmp_path / "bin")})
    assert again.status([launch.attempt])[launch.attempt].state is JobState.COMPLETED
    again.close()


def _connector(folder: Path, *, room: int = 1000, largest: int = 1000) -> SlurmConnector:
    """Return a connector whose sbatch numbers a job by how many have been taken with it."""
    programs = folder / "bin"
    programs.mkdir()
    (folder / "taken").write_text("0\n")
    sbatch = _SBATCH.format(calls=folder / "calls", taken=folder / "taken", room=room, largest=largest)
    for name, text in {"sbatch": sbatch, "srun": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return SlurmConnector({"spool": str(folder / "spool"), "bin": str(programs)})


def _launches(count: int) -> list[Launch]:
    return [Launch(str(uuid.UUID(int=number + 1)), str(number), "job array", ("/bin/true",)) for number in range(count)]


def _calls(folder: Path) -> list[int]:
    """Return of how many jobs each call of sbatch was."""
    return [int(line) for line in (folder / "calls").read_text().split()]


@pytest.mark.parametrize("largest", [4, 1000])
@pytest.mark.parametrize("room", [0, 1, 5, 6, 13, 16])
def test_of_more_jobs_than_a_user_may_have_as_many_go_as_he_may_have(tmp_path: Path, room: int, largest: int) -> None:
    launches = _launches(16)
    found = _connector(tmp_path, room=room, largest=largest).submit_many(launches)
    faults = [one for one in found.values() if isinstance(one, ConnectorError)]
    assert len(faults) == 16 - room
    assert all(fault.refused and fault.transient for fault in faults)
    assert [isinstance(found[launch.attempt], str) for launch in launches] == [True] * room + [False] * (16 - room)
    assert len(_calls(tmp_path)) <= 11


def test_who_has_too_many_is_asked_for_once_and_others_go(tmp_path: Path) -> None:
    launches = [
        replace(launch, hosts=("node01",), owner="ada" if place < 3 else "bob")
        for place, launch in enumerate(_launches(6))
    ]
    found = _connector(tmp_path, room=0).submit_many(launches)
    assert all(isinstance(one, ConnectorError) and one.refused for one in found.values())
    assert _calls(tmp_path) == [1, 1]


def test_a_refusal_says_nothing_of_an_earlier_submit_whose_answer_was_lost(tmp_path: Path) -> None:
    connector = _connector(tmp_path, room=0)
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\necho '{\"jobs\": []}'\n")
    (tmp_path / "bin" / "squeue").chmod(0o755)
    (launch,) = _launches(1)
    for first in (True, False):
        with pytest.raises(ConnectorError) as refusal:
            connector.submit(launch)
        assert (refusal.value.transient, refusal.value.refused) == (True, first)


def test_a_cluster_without_arrays_is_asked_for_one_once(tmp_path: Path) -> None:
    connector = _connector(tmp_path, largest=1)
    launches = _launches(4)
    for pair in (launches[:2], launches[2:]):
        assert not [one for one in connector.submit_many(pair).values() if isinstance(one, ConnectorError)]
    assert _calls(tmp_path) == [2, 1, 1, 1, 1]


def test_a_cluster_with_small_arrays_gets_small_arrays(tmp_path: Path) -> None:
    connector = _connector(tmp_path, largest=5)
    launches = _launches(32)
    for half in (launches[:16], launches[16:]):
        assert not [one for one in connector.submit_many(half).values() if isinstance(one, ConnectorError)]
    assert _calls(tmp_path) == [16, 8, 4, 4, 8, 4, 4, 4, 4, 4, 4]


_SECOND = """
import sys
from cosched_slurm.connector import SlurmConnector
SlurmConnector({"spool": sys.argv[1], "bin": sys.argv[2]}).hosts()
"""


def test_a_job_is_cancelled_where_no_fence_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that filled the spool with its output could not be cancelled, for want of room."""
    connector = _connector(tmp_path)
    (launch,) = _launches(1)
    row = {"job_id": 7, "job_state": "RUNNING", "comment": f"cosched:{launch.attempt}:1", "nodes": "n1"}
    (tmp_path / "queue").write_text(json.dumps({"jobs": [row]}))
    for program, does in {"squeue": f"cat {tmp_path}/queue", "scancel": f'echo "$@" > {tmp_path}/cancelled'}.items():
        (tmp_path / "bin" / program).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / program).chmod(0o755)

    def full(_folders: AttemptFolders, _attempt: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(AttemptFolders, "fence", full)
    with pytest.raises(ConnectorError, match=r"No space left on device: .*: make room"):
        connector.cancel(launch.attempt)
    assert (tmp_path / "cancelled").read_text() == "--quiet 7\n"


def test_a_second_daemon_on_the_same_spool_is_refused(tmp_path: Path) -> None:
    """Neither saw the other's jobs: both planned with the nodes that these had."""
    _connector(tmp_path)
    folders = AttemptFolders(tmp_path / "spool")
    folders.hold()
    words = [sys.executable, "-c", _SECOND, str(tmp_path / "spool"), str(tmp_path / "bin")]
    second = subprocess.run(words, capture_output=True, text=True, check=False)
    assert f"the spool {tmp_path / 'spool'} is in use by another cosched" in second.stderr
    folders.lock.release()


@pytest.mark.parametrize(
    ("identity", "owner", "message"),
    [
        ("user", "root", "nothing is submitted for root, a user of the system"),
        ("user", "no_such_user", "there is no user 'no_such_user' here: submit as one that the cluster knows"),
        ("user", "", "jobs here run under their owners' names"),
        ("account", "", "jobs here run under their owners' names"),
    ],
)
def test_tasks_of_users_who_can_have_no_jobs_are_refused_before_they_wait(
    tmp_path: Path, identity: str, owner: str, message: str
) -> None:
    connector = SlurmConnector({"spool": str(tmp_path), "identity": identity})
    with pytest.raises(UserError, match=message):
        connector.check_task(owner, LaunchMode.EACH)
    connector.check_task("nobody", LaunchMode.OPENMPI)
    SlurmConnector({"spool": str(tmp_path)}).check_task(owner, LaunchMode.EACH)  # jobs are the daemon's own
