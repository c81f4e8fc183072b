"""What is handed to Slurm: nothing that a user wrote may become an option, a directive or shell."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import Launch
from cosched.connector.values import NativeDescription
from cosched.errors import UserError
from cosched_slurm.job_script import ArrayShape, array_arguments, array_shape, job_script, sbatch_arguments
from cosched_slurm.jobs import commented_uuid
from cosched_slurm.slurm_settings import SlurmSettings
from cosched_slurm.spool import SlurmAttemptFolders

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


def test_a_group_has_what_it_needs_on_each_host(attempts: SlurmAttemptFolders) -> None:
    given = _options(attempts, replace(_launch(), memory=4096, cores=8, gpus=2), gres="tmp:5")
    assert {"--mem=4096M", "--mincpus=8", "--gres=tmp:5,gpu:2"} <= set(given)


def test_a_shared_launch_takes_what_it_says_and_leaves_the_rest(attempts: SlurmAttemptFolders) -> None:
    shared = replace(_launch(), shared=True, cores=8, processes_per_host=2)
    given = _options(attempts, shared, gres="gpu:1,tmp:5")
    assert {"--cpus-per-task=4", "--ntasks-per-node=2", "--gres=tmp:5"} <= set(given)
    assert not [option for option in given if option.startswith(("--exclusive", "--mem", "--overcommit", "--mincpus"))]
    given = _options(attempts, replace(shared, memory=512, gpus=2), gres="gpu:1,tmp:5")
    assert {"--mem=512M", "--gres=tmp:5,gpu:2"} <= set(given)


@pytest.mark.parametrize(("cores", "ranks"), [(1, 2), (7, 3)])
def test_cores_that_ranks_cannot_divide_are_those_of_the_node(
    attempts: SlurmAttemptFolders, cores: int, ranks: int
) -> None:
    launch = replace(_launch(), shared=True, cores=cores, processes_per_host=ranks)
    assert {f"--cpus-per-task={cores}", f"--ntasks-per-node={ranks}", "--overcommit"} <= set(_options(attempts, launch))


@pytest.mark.parametrize(
    ("settings", "size", "words"),
    [
        (
            {"ntasks-per-node": "2", "cpus-per-task": "4", "mem-per-cpu": "1G", "gpus-per-node": "a100:2"},
            (8192, 8, 2),
            {"--ntasks-per-node=2", "--cpus-per-task=4", "--mem-per-cpu=1G", "--gpus-per-node=a100:2"},
        ),
        ({"cpus-per-task": "4", "mem": "1G"}, (2048, 6, 0), {"--cpus-per-task=6", "--mem=2048M"}),
        ({"gres": "gpu:v100:1,tmp:5"}, (0, 1, 1), {"--cpus-per-task=1", "--gres=gpu:v100:1,tmp:5"}),
        ({"gres": "gpu:v100:1,tmp:5"}, (0, 1, 3), {"--cpus-per-task=1", "--gres=tmp:5,gpu:3"}),
    ],
)
def test_words_of_a_users_script_stand_unless_its_task_takes_something_else(
    attempts: SlurmAttemptFolders, settings: dict[str, str], size: tuple[int, int, int], words: set[str]
) -> None:
    memory, cores, gpus = size
    launch = replace(_launch(hosts=("node01",)), native=NativeDescription("slurm", settings, "#!/bin/sh\n"))
    given = _options(attempts, replace(launch, shared=True, memory=memory, cores=cores, gpus=gpus))
    sizes = ("--mem", "--mincpus", "--cpus", "--ntasks", "--gres", "--gpus", "--exclusive")
    assert {option for option in given if option.startswith(sizes)} == words


def test_deadline_and_application_stand_in_the_comment_behind_the_attempt(attempts: SlurmAttemptFolders) -> None:
    launch = replace(_launch(), deadline=1795215376.9, application="jacobi")
    (comment,) = (option for option in _options(attempts, launch) if option.startswith("--comment="))
    assert comment == f"--comment=cosched:{launch.attempt}:2 deadline=1795215376 application=jacobi"
    assert commented_uuid({"comment": comment.removeprefix("--comment=")}) == launch.attempt


@pytest.mark.parametrize("name", ["my solver", "a=b", "ExitCode=0:0", "größe", "x" * 65, "$(id)", ".", "-x", "a\n"])
def test_an_application_that_is_not_one_plain_word_is_left_out_of_the_comment(
    attempts: SlurmAttemptFolders, name: str
) -> None:
    launch = replace(_launch(), application=name)
    assert f"--comment=cosched:{launch.attempt}:2" in _options(attempts, launch)


def test_an_array_shows_the_earliest_deadline_of_its_elements(attempts: SlurmAttemptFolders, tmp_path: Path) -> None:
    array = str(uuid.uuid4())
    launches = [replace(_launch(hosts=()), deadline=at, application="jacobi") for at in (1795215999.0, 1795215376.5)]
    first, second = (_shape(attempts, launch) for launch in launches)
    assert first is not None
    assert first == second
    given = array_arguments(first, array, tmp_path, launches)
    assert f"--comment=cosched-array:{array}:2 deadline=1795215376 application=jacobi" in given
    assert "--array=0-1" in given


def test_attempts_share_an_array_where_application_and_having_a_deadline_are_the_same(
    attempts: SlurmAttemptFolders,
) -> None:
    launch = replace(_launch(hosts=()), application="jacobi")
    others = [
        replace(launch, deadline=1795215999.0),
        replace(launch, application="sweep3d"),
        replace(launch, count=3),
        replace(launch, owner="ada"),
    ]
    assert [_shape(attempts, launch) == _shape(attempts, other) for other in others] == [False, False, False, True]
    given = array_arguments(_found(_shape(attempts, launch)), launch.attempt, attempts.root, [launch])
    assert f"--comment=cosched-array:{launch.attempt}:2 application=jacobi" in given


def _shape(attempts: SlurmAttemptFolders, launch: Launch) -> ArrayShape | None:
    return array_shape(launch, attempts.folder(launch.attempt), SlurmSettings.read({"spool": str(attempts.root)}))


def _found(shape: ArrayShape | None) -> ArrayShape:
    assert shape is not None
    return shape


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


def test_several_nodes_that_slurm_chooses_are_asked_for(tmp_path: Path) -> None:
    asked = job_script(3, tmp_path / "run.sh", "/usr/bin/srun", "/usr/bin/scontrol")
    assert "'/usr/bin/scontrol' show hostnames" in asked
    assert "scontrol" not in job_script(3, tmp_path / "run.sh", "/usr/bin/srun")


def test_one_process_needs_no_step(tmp_path: Path) -> None:
    assert "srun" not in job_script(1, tmp_path / "run.sh", "/usr/bin/srun")
    assert "exec '/usr/bin/srun' --nodes=3 --ntasks=3" in job_script(3, tmp_path / "run.sh", "/usr/bin/srun")
