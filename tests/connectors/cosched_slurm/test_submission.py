"""What is handed to Slurm: nothing that a user wrote may become an option, a directive or shell."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import Launch
from cosched.errors import UserError
from cosched_slurm.slurm_settings import SlurmSettings
from cosched_slurm.spool import SlurmAttemptFolders
from cosched_slurm.submission import job_script, sbatch_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BAD = ("x\n#SBATCH --uid=0", "$(id)", "`id`", '"; rm -rf ~ #', "a\u202eb", "\ud800", "-h", "--wrap=id")


def _launch(*command: str, hosts: tuple[str, ...] = ("node02", "node01")) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command or ("/bin/true",), hosts=hosts, count=len(hosts) or 2)


@pytest.fixture
def attempts(tmp_path: Path) -> SlurmAttemptFolders:
    return SlurmAttemptFolders(tmp_path / "spool")


def _options(attempts: SlurmAttemptFolders, launch: Launch, **table: str) -> Sequence[str]:
    read = SlurmSettings.read({"spool": str(attempts.root), **table})
    return sbatch_arguments(launch, attempts.folder(launch.attempt), read)


def test_a_group_is_pinned_and_has_its_hosts_for_itself(attempts: SlurmAttemptFolders) -> None:
    launch = _launch()
    given = _options(attempts, launch, partition="p", account="a", qos="q")
    assert {"--nodelist=node02,node01", "--nodes=2", "--ntasks=2", "--exclusive", "--no-requeue"} <= set(given)
    assert {"--partition=p", "--account=a", "--qos=q"} <= set(given)
    assert f"--comment=cosched:{launch.attempt}:2" in given
    assert not [option for option in given if option.startswith("--time")]


def test_without_hosts_nothing_is_pinned(attempts: SlurmAttemptFolders) -> None:
    given = _options(attempts, _launch(hosts=()))
    assert not [option for option in given if "nodelist" in option or "partition" in option]
    assert "--nodes=2" in given


def test_a_time_limit_is_in_whole_seconds(attempts: SlurmAttemptFolders) -> None:
    assert "--time=0:91" in _options(attempts, replace(_launch(), time_limit=90.2))


@pytest.mark.parametrize("value", _BAD)
@pytest.mark.parametrize("place", ["name", "directory", "hosts"])
def test_values_that_are_more_than_values_are_refused(attempts: SlurmAttemptFolders, place: str, value: str) -> None:
    launch = replace(_launch(hosts=("node01",)), count=1)
    bad = replace(launch, hosts=(value,)) if place == "hosts" else replace(launch, **{place: value})  # type: ignore[arg-type]  # the place is one of text
    with pytest.raises(UserError):
        _options(attempts, bad)


@pytest.mark.parametrize("host", ["node[01-16]", "node01,node02", "/etc/hosts", "./list", "ALL nodes", "^file", ""])
def test_a_host_is_one_name(attempts: SlurmAttemptFolders, host: str) -> None:
    with pytest.raises(UserError, match="host"):
        _options(attempts, replace(_launch(hosts=("node01",)), hosts=(host,)))


def test_one_process_needs_no_step(tmp_path: Path) -> None:
    assert "srun" not in job_script(1, tmp_path / "run.sh", "/usr/bin/srun")
    assert "exec '/usr/bin/srun' --nodes=3 --ntasks=3" in job_script(3, tmp_path / "run.sh", "/usr/bin/srun")
