"""Users' own batch scripts on a real cluster: taken as they are, placed by cosched, each run once on its first host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobState, Launch, NativeDescription
from cosched.connector.userfiles import UserFileOrigin
from cosched.errors import UserError
from cosched_slurm import userfile

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.connector.contract import Bench
    from tests.testbed.slurm.cluster import SlurmCluster

pytestmark = pytest.mark.pool


@pytest.fixture
def launched(bench: Bench) -> Callable[..., Launch]:
    """Read a script and make a launch of its first task on these hosts, as the daemon would."""

    def launched(text: str, *hosts: str, environment: dict[str, str] | None = None, index: int = 0) -> Launch:
        job = userfile.read(text, UserFileOrigin(bench.workplace, environment or {}, "job.sh"))[index]
        plain = bench.launch(*job.command, hosts=hosts)
        return Launch(
            plain.attempt,
            "17",
            job.name,
            job.command,
            hosts,
            len(hosts) or 1,
            job.environment,
            job.directory,
            time_limit=job.time_limit,
            native=job.native,
        )

    return launched


def test_all_that_a_script_says_is_kept(cluster: SlurmCluster, bench: Bench, launched: Callable[..., Launch]) -> None:
    text = """\
#!/bin/bash
#SBATCH --job-name=weather -N 2 --ntasks=2
#SBATCH -o mine-%j.out --time=2:30 --mem=50
#SBATCH --export=ALL,A='a b' --nice=7 --signal=USR1@60
#COSCHED --deadline=now+2h
echo "$0" | grep -q user.sh
[[ $SLURM_JOB_NAME == weather ]] && echo "$A $MINE $SLURM_JOB_NUM_NODES $SLURM_NTASKS $COSCHED_HOSTS $(pwd)"
echo to-err >&2
srun hostname | wc -l
#SBATCH --time=1
"""
    launch = launched(text, "node02", "node04", environment={"PATH": f"{cluster.bin}:/usr/bin:/bin", "MINE": "x"})
    job = bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    output = (bench.workplace / f"mine-{job}.out").read_text()
    assert output == f"a b  2 2 node02,node04 {bench.workplace}\nto-err\n2\n"
    shown = cluster.tool("scontrol", "show", "job", job)
    for words in (
        "JobName=weather",
        "NodeList=node[02,04]",
        "TimeLimit=00:03:00",
        "Nice=7",
        f"Comment=cosched:{launch.attempt}",
    ):
        assert words in shown
    assert bench.listen(launch, JobState.COMPLETED)[-1].exit_code == 0


def test_what_the_script_does_not_send_elsewhere_is_kept_for_task_out(
    bench: Bench, launched: Callable[..., Launch]
) -> None:
    launch = launched("#!/bin/sh\necho out\necho err >&2\nexit 3\n", "node01")
    bench.submit(launch)
    assert bench.until(launch, JobState.FAILED).exit_code == 3
    assert bench.written(launch, "out", 0).data == b"out\n"
    assert bench.written(launch, "err", 0).data == b"err\n"


def test_an_array_is_a_bag_of_tasks(bench: Bench, launched: Callable[..., Launch]) -> None:
    text = "#!/bin/sh\n#SBATCH --array=1-5:2 -o array-%a.out\necho $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT\n"
    for index, number in enumerate((1, 3, 5)):
        launch = launched(text, f"node0{index + 1}", index=index)
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert (bench.workplace / f"array-{number}.out").read_text() == f"{number} of 3\n"


def test_a_script_is_run_as_its_own_interpreter_runs_it_and_nothing_of_it_before(
    bench: Bench, launched: Callable[..., Launch]
) -> None:
    """Neither reading nor submitting runs any of it, whatever stands in its options."""
    text = '#!/usr/bin/env -S cat\n#SBATCH --job-name=x$(touch${IFS}hacked)\n`touch hacked`\n"; rm -rf ~ #\n'
    with pytest.raises(UserError, match="job's name"):
        launched(text, "node01")
    launch = launched(text.replace("--job-name", "--wckey"), "node01")
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert bench.written(launch, "out", 0).data.decode() == text.replace("--job-name", "--wckey")
    assert not list(bench.workplace.rglob("hacked"))


@pytest.mark.parametrize(
    "settings",
    [
        {"uid": "0"},
        {"wrap": "id"},
        {"qos": "x\n#SBATCH --uid=0"},
        {"nodelist": "node04"},
        {"comment": "x"},
        {"qos": ""},
        {"overcommit": "yes"},
        {"qos=x --uid": "0"},
        {"-h": ""},
        {"output": "a\u2028b"},
    ],
)
def test_options_that_are_not_the_users_never_reach_slurm(
    cluster: SlurmCluster, bench: Bench, settings: dict[str, str]
) -> None:
    """Whoever talks to the API by himself is held to the same."""
    before = cluster.tool("squeue", "--states=all", "--noheader", "--format=%i")
    with pytest.raises(UserError):
        bench.submit(_native(bench, settings))
    assert cluster.tool("squeue", "--states=all", "--noheader", "--format=%i") == before


def test_a_job_is_its_users_whatever_the_script_wants(cluster: SlurmCluster, bench: Bench) -> None:
    """A script is never read by sbatch: an option in it that nobody checked is a comment."""
    launch = _native(bench, {}, "#!/bin/sh\n#SBATCH --uid=12345 --nodelist=node04\necho ran\n")
    job = bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    shown = cluster.tool("scontrol", "show", "job", job)
    assert f"({os.geteuid()})" in shown
    assert "NodeList=node01\n" in shown


@pytest.mark.parametrize("settings", [{"partition": "nowhere"}, {"mem": "lots"}, {"dependency": "afterok:x"}])
def test_what_slurm_cannot_take_is_refused_for_good(bench: Bench, settings: dict[str, str]) -> None:
    with pytest.raises(ConnectorError) as refusal:
        bench.submit(_native(bench, settings))
    assert not refusal.value.transient
    assert "\n" not in str(refusal.value)


def _native(bench: Bench, settings: dict[str, str], script: str = "#!/bin/sh\n") -> Launch:
    launch = bench.launch("/bin/true", hosts=("node01",))
    return Launch(
        launch.attempt,
        "17",
        "mine",
        ("/bin/true",),
        ("node01",),
        1,
        directory=str(bench.workplace),
        native=NativeDescription("slurm", settings, script),
    )
