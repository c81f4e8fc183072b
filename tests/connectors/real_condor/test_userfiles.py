"""Users' own submit files on a real pool: taken as they are, placed by cosched, and run nowhere else."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState, Launch, NativeDescription
from cosched.connector.userfiles import UserFileOrigin
from cosched.errors import UserError
from cosched_condor import userfile

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.connector.contract import Bench
    from tests.testbed.condor.pool import CondorPool

pytestmark = pytest.mark.pool


@pytest.fixture
def launched(bench: Bench) -> Callable[..., Launch]:
    """Read a submit file and make a launch of its first task on these hosts, as the daemon would."""

    def launched(text: str, *hosts: str, environment: dict[str, str] | None = None) -> Launch:
        job = userfile.read(text, UserFileOrigin(bench.workplace, environment or {}, "job.sub"))[0]
        plain = bench.launch(*job.command, hosts=hosts)
        return Launch(
            plain.attempt,
            "17",
            "mine",
            job.command,
            hosts,
            len(hosts) or 1,
            job.environment,
            job.directory,
            native=job.native,
        )

    return launched


def test_all_that_a_file_says_is_kept_but_hosts_and_placement(
    pool: CondorPool, bench: Bench, launched: Callable[..., Launch]
) -> None:
    text = """\
program = /bin/sh
executable = $(program)
x = seven
arguments = "-c 'echo $(x) rank $(Process) $COSCHED_RANK $COSCHED_HOSTS $A $$(Machine) [$SECRET]; cat >&2'"
input = in.txt
output = mine.$(Process).out
error = mine.$(Process).err
log = mine.log
environment = "A='a ''b'"
getenv = SECRET
request_memory = 100MB
requirements = TARGET.Memory > 1
+ProjectName = "weather"
+CoschedHosts = "2"
queue
"""
    (bench.workplace / "in.txt").write_text("from the input\n")
    launch = launched(text, "node02", "node04", environment={"SECRET": "a$(b)'c\"", "OTHER": "x"})
    job = bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    for rank, host in enumerate(("node02", "node04")):
        words = f"seven rank {rank} {rank} node02,node04 a 'b {host} [a$(b)'c\"]\n"
        assert (bench.workplace / f"mine.{rank}.out").read_text() == words
        assert (bench.workplace / f"mine.{rank}.err").read_text() == "from the input\n"
    assert "Job terminated" in (bench.workplace / "mine.log").read_text()
    ad = pool.tool("condor_history", job, "-limit", "1", "-af", "ProjectName", "RequestMemory", "CoschedAttempt")
    assert ad.split() == ["weather", "100", launch.attempt]
    assert bench.listen(launch, JobState.COMPLETED)[-1].exit_code == 0


def test_what_the_file_does_not_send_elsewhere_is_kept_for_task_out(
    bench: Bench, launched: Callable[..., Launch]
) -> None:
    launch = launched('executable = /bin/echo\narguments = "hello"\nqueue\n', "node01")
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert bench.written(launch, "out", 0).data == b"hello\n"


def test_a_queue_of_items_is_a_bag_of_tasks(bench: Bench, launched: Callable[..., Launch]) -> None:
    text = 'executable = /bin/echo\narguments = "$(a)-$(b)-$(Process)"\nqueue 2 a,b from (\n1, 2\n3, 4 5\n)\n'
    jobs = userfile.read(text, UserFileOrigin(bench.workplace, {}, "job.sub"))
    assert [job.native.settings["arguments"] for job in jobs] == ['"1-2-0"', '"1-2-1"', '"3-4 5-2"', '"3-4 5-3"']
    assert {job.hosts for job in jobs} == {"1"}


def test_commands_of_a_file_run_when_it_is_read_and_never_when_it_is_submitted(
    bench: Bench, launched: Callable[..., Launch]
) -> None:
    """Read on the command line's side: its environment is bare, and what it prints does not get in between."""
    script = bench.workplace / "make"
    script.write_text('#!/bin/sh\nenv > seen\necho "noise" >&2\necho "arguments = made"\n')
    script.chmod(0o755)
    launch = launched(
        f"executable = /bin/echo\ninclude command : {script}\nqueue\n", "node01", environment={"TOKEN": "x"}
    )
    assert launch.native is not None
    assert launch.native.settings["arguments"] == "made"
    seen = (bench.workplace / "seen").read_text()
    assert "TOKEN" not in seen
    assert {line.partition("=")[0] for line in seen.splitlines()} <= {
        "PATH",
        "LC_ALL",
        "CONDOR_CONFIG",
        "PWD",
        "SHLVL",
        "_",
    }
    (bench.workplace / "seen").unlink()
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert bench.written(launch, "out", 0).data == b"made\n"
    assert not (bench.workplace / "seen").exists()


@pytest.mark.parametrize(
    "value",
    ["1\ninclude command : touch hacked", "10\nqueue 500", "x\\", "a\u2028b", "a\u202eb", "nul\0"],
)
def test_values_that_could_be_lines_of_their_own_never_reach_htcondor(
    pool: CondorPool, bench: Bench, value: str
) -> None:
    """Whoever talks to the API by himself is held to the same."""
    before = pool.tool("condor_q", "-allusers", "-af", "ClusterId")
    for key in ("arguments", "environment", "requirements", "my.x"):
        launch = _native(bench, {"executable": "/bin/true", key: value})
        with pytest.raises(UserError):
            bench.submit(launch)
    assert pool.tool("condor_q", "-allusers", "-af", "ClusterId") == before
    assert not list(bench.workplace.rglob("hacked"))


@pytest.mark.parametrize(
    "value",
    ["$ENV(HOME)", "$(HOME)", "$$(Memory)", "$(touch hacked)", "`touch hacked`", "$F(x)", "$RANDOM_INTEGER(1,9)"],
)
def test_macros_in_values_stay_text(pool: CondorPool, bench: Bench, value: str) -> None:
    """They were filled in when the file was read: the daemon's own environment is nobody's."""
    launch = _native(bench, {"executable": "/bin/echo", "arguments": value, "my.note": f'"{value}"'})
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED, JobState.FAILED)
    written = bench.written(launch, "out", 0).data.decode().strip()
    assert written == ("1024" if value == "$$(Memory)" else value)
    assert os.environ["HOME"] not in written
    assert not list(bench.workplace.rglob("hacked"))


@pytest.mark.parametrize("key", ["queue", "include", "use", "hold", "getenv", "my.coschedattempt", "a b", "x\ny", "+x"])
def test_commands_that_are_not_the_users_are_refused(bench: Bench, key: str) -> None:
    with pytest.raises(UserError):
        bench.submit(_native(bench, {"executable": "/bin/true", key: "1"}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("periodic_remove", "false // \\ "),  # it swallowed the line of cosched's mark: a cancelled job ran to its end
        ("requirements", 'TARGET.Machine=="node04") || (false'),
        ("my.requirements", 'TARGET.Machine=="node04"'),
        ("my.accountinggroup", '"vip.bob"'),
        ("my.acctgroupuser", '"bob"'),
        ("accounting_group_user", "bob"),
        ("universe", "local"),
        ("universe", "scheduler"),
    ],
)
def test_what_a_review_said_to_htcondor_through_cosched_is_refused(
    pool: CondorPool, bench: Bench, key: str, value: str
) -> None:
    before = pool.tool("condor_q", "-allusers", "-af", "ClusterId")
    with pytest.raises(UserError, match=key):
        bench.submit(_native(bench, {"executable": "/bin/true", key: value}))
    assert pool.tool("condor_q", "-allusers", "-af", "ClusterId") == before


def test_a_users_own_requirements_let_no_job_onto_another_host(bench: Bench) -> None:
    """One that closed cosched's parenthesis ran on a host that was reserved for others."""
    with pytest.raises(UserError, match="requirements"):
        bench.submit(_native(bench, {"executable": "/bin/true", "requirements": 'TARGET.Machine=="node04") || (false'}))
    launch = _native(bench, {"executable": "/bin/sleep", "arguments": "60", "requirements": 'TARGET.Machine=="node04"'})
    bench.submit(launch)
    bench.until(launch, JobState.QUEUED)  # it is bound to node01, which is no node04
    bench.connector.cancel(launch.attempt)
    bench.until(launch, JobState.REMOVED)


def test_what_htcondor_cannot_take_is_refused_for_good(bench: Bench) -> None:
    launch = _native(bench, {"executable": "/bin/true", "my.x": '"open'})
    with pytest.raises(ConnectorError) as refusal:
        bench.submit(launch)
    assert not refusal.value.transient
    assert "\n" not in str(refusal.value)


def _native(bench: Bench, settings: dict[str, str]) -> Launch:
    launch = bench.launch("/bin/true", hosts=("node01",))
    assert uuid.UUID(launch.attempt)
    return Launch(
        launch.attempt,
        "17",
        "mine",
        ("/bin/true",),
        ("node01",),
        1,
        directory=str(bench.workplace),
        native=NativeDescription("condor", settings),
    )


def test_the_parallel_universe_is_all_or_nothing_on_the_hosts_that_cosched_chose(
    bench: Bench, launched: Callable[..., Launch]
) -> None:
    text = (
        "universe = parallel\nexecutable = /bin/sh\narguments = \"-c 'echo $_CONDOR_PROCNO $COSCHED_HOSTS'\"\n"
        "output = node.$(Node).out\nmachine_count = 2\n"
        '+ParallelShutdownPolicy = "WAIT_FOR_ALL"\nqueue\n'
    )
    launch = launched(text, "node02", "node03")
    bench.submit(launch)
    report = bench.until(launch, JobState.COMPLETED)
    assert report.exit_code == 0
    for node in (0, 1):
        assert (bench.workplace / f"node.{node}.out").read_text() == f"{node} node02,node03\n"
    assert bench.listen(launch, JobState.COMPLETED)[-1].started is not None
