r"""What every connector must do, as tests that the author of a connector inherits.

    # tests/conftest.py: lets pytest explain a failed assertion of the contract
    pytest.register_assert_rewrite("cosched.connector.contract")

    # tests/test_mine.py
    class TestMine(ConnectorContract):
        patience = 30.0

        @pytest.fixture
        def connect(self, pool):
            return lambda: MyConnector({"address": pool.address})

`connect` is the one fixture that must be given; the others have defaults that fit or skip with a reason. A test that a
manager cannot pass is overridden with `pytest.skip("why, and what the co-scheduler loses by it")`. Nothing here asserts
on speed: `patience` is how long to wait for what must come, `quiet` how long to watch for what must not.
Needs pytest and a POSIX shell on the hosts.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.interface import ConnectorError, JobReport, JobState, Launch
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched.connector.interface import Connector

__all__ = ["Bench", "ConnectorContract"]

_WAIT_FOR_FILE = 'while [ ! -e "$0" ]; do sleep 0.02; done'
_LOST = (JobState.EVICTED, JobState.REMOVED, JobState.QUEUED, JobState.HELD)
_AWKWARD = (
    "two words", "", "'single'", '"double"', "$(touch hacked)", "`touch hacked`", "$HOME ${HOME} $$(Memory) $ENV(PATH)",
    "a\nqueue 500\ninclude command : touch hacked", "tab\there", "back\\slash", "; touch hacked #", "| touch hacked",
    "-h", "--help", "*", "~", "%s%n", "grüße ☃ 𓀀", "\u202eover", "\r", "#SBATCH --uid=0",
)  # fmt: skip


class Bench:
    """One connector under test, with what the tests do to it; cleans up behind them.

    Attributes:
        connector: the object under test; `restart` replaces it.
        workplace: folder that both the tests and the jobs can write to.
        patience: seconds to wait for what must come.
    """

    def __init__(self, connect: Callable[[], Connector], workplace: Path, patience: float) -> None:
        self._connect = connect
        self.connector = connect()
        self.workplace = workplace
        self.patience = patience
        self._attempts: set[str] = set()

    def up(self, count: int) -> tuple[str, ...]:
        """Return the names of this many hosts that are up, or skip."""
        names = tuple(host.name for host in self.connector.hosts() if host.up)
        if len(names) < count:
            pytest.skip(f"needs {count} hosts that are up, has {len(names)}")
        return names[:count]

    def launch(self, *command: str, hosts: tuple[str, ...] = (), count: int | None = None) -> Launch:
        """Make a launch with a UUID of its own, pinned where hosts are given."""
        attempt = str(uuid.uuid4())
        self._attempts.add(attempt)
        return Launch(attempt=attempt, task="17", name="contract", command=command, hosts=hosts,
                      count=len(hosts) or 1 if count is None else count)  # fmt: skip

    def shell(self, script: str, *arguments: str, hosts: tuple[str, ...] = (), count: int | None = None) -> Launch:
        """Make a launch of a shell script; the first argument is its `$0`."""
        return self.launch("/bin/sh", "-c", script, *arguments, hosts=hosts, count=count)

    def waiter(self, *, hosts: tuple[str, ...] = ()) -> tuple[Launch, Path]:
        """Make a launch that ends when the file returned beside it exists; it then leaves a file with `.done`."""
        gate = self.workplace / f"gate-{uuid.uuid4().hex}"
        return self.shell(_WAIT_FOR_FILE + '; : > "$0.done"', str(gate), hosts=hosts), gate

    def diary(self, *, hosts: tuple[str, ...] = ()) -> tuple[Launch, Path]:
        """Make a launch each of whose processes writes one line with its rank into the file returned beside it."""
        file = self.workplace / f"diary-{uuid.uuid4().hex}"
        return self.shell('echo "$COSCHED_RANK" >> "$0"', str(file), hosts=hosts), file

    def submit(self, launch: Launch) -> str:
        """Submit; the attempt is cancelled at the end of the test if it still lives."""
        return self.connector.submit(launch)

    def report(self, launch: Launch) -> JobReport:
        """Ask for the status of one attempt."""
        return self.connector.status([launch.attempt])[launch.attempt]

    def until(self, launch: Launch, *states: JobState) -> JobReport:
        """Wait until the attempt is in one of these states."""
        return self._until(launch.attempt, states)

    def _until(self, attempt: str, states: tuple[JobState, ...]) -> JobReport:
        end = time.monotonic() + self.patience
        while True:
            report = self.connector.status([attempt])[attempt]
            if report.state in states:
                return report
            if report.state.final or time.monotonic() > end:
                wanted = " or ".join(states)
                pytest.fail(f"waited up to {self.patience} s for {wanted}, but the connector says {report}")
            time.sleep(0.02)

    def listen(self, launch: Launch, *states: JobState) -> list[JobReport]:
        """Collect the attempt's events until one of these states has come."""
        seen: list[JobReport] = []
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            seen += [report for report in self.connector.events(0.2) if report.attempt == launch.attempt]
            if seen and seen[-1].state in states:
                return seen
        pytest.fail(f"waited {self.patience} s for the event {' or '.join(states)}, but saw {seen}")

    def await_file(self, path: Path) -> None:
        """Wait until a job has made this file."""
        end = time.monotonic() + self.patience
        while not path.exists():
            if time.monotonic() > end:
                pytest.fail(f"no job made {path.name} within {self.patience} s")
            time.sleep(0.02)

    def await_host(self, name: str, *, up: bool) -> None:
        """Wait until the connector shows the host up, or down or absent."""
        end = time.monotonic() + self.patience
        while up != any(host.up for host in self.connector.hosts() if host.name == name):
            if time.monotonic() > end:
                pytest.fail(f"host {name} is not {'up' if up else 'down'} after {self.patience} s")
            time.sleep(0.02)

    def restart(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Put a new connector object in the place of the old one, as a restarted daemon does."""
        self.connector.close()
        meanwhile()
        self.connector = self._connect()

    def clear(self) -> None:
        """Cancel what the test left and wait until it is gone."""
        try:
            reports = self.connector.status(sorted(self._attempts))
            live = [a for a, r in reports.items() if not r.state.final and r.state is not JobState.UNKNOWN]
            for attempt in live:
                self.connector.cancel(attempt)
            for attempt in live:
                self._until(attempt, (JobState.REMOVED, JobState.COMPLETED, JobState.FAILED, JobState.UNKNOWN))
        finally:
            self.connector.close()


class ConnectorContract:
    """The contract. Inherit it in a class whose name starts with `Test` and give the fixture `connect`.

    Attributes:
        patience: seconds to wait for what must come; raise it for a manager that is slow to schedule.
        quiet: seconds to watch for what must not come: longer than the manager needs to start a job.
    """

    patience: float = 10.0
    quiet: float = 0.5

    @pytest.fixture
    def connect(self) -> Callable[[], Connector]:
        """Give a function that makes one more connector object on the same manager (a restart)."""
        raise NotImplementedError("a connector's contract tests must define the fixture 'connect'")

    @pytest.fixture
    def take_host(self) -> Callable[[str], None]:
        """Give a function that takes a host off under what runs there."""
        pytest.skip("the tests of this connector have no means to take a host off")

    @pytest.fixture
    def give_host(self) -> Callable[[str], None]:
        """Give a function that brings back a host that was taken off."""
        pytest.skip("the tests of this connector have no means to give a host back")

    @pytest.fixture
    def outputs(self) -> Callable[[str], Path]:
        """Give a function from an attempt's UUID to the folder that holds its out.<rank> and err.<rank>."""
        pytest.skip("the tests of this connector cannot see the output of its jobs")

    @pytest.fixture
    def workplace(self, tmp_path: Path) -> Path:
        """Give a folder that the tests and the jobs can write to; open to others where jobs run as another user."""
        return tmp_path

    @pytest.fixture
    def bench(self, connect: Callable[[], Connector], workplace: Path) -> Iterator[Bench]:
        """Give the connector under test with its tools; cancels at the end what the test left."""
        bench = Bench(connect, workplace, self.patience)
        yield bench
        bench.clear()

    # Hosts

    def test_hosts_are_listed_and_up(self, bench: Bench) -> None:
        """There are hosts, each named once, and those that are up have no reason to be down."""
        hosts = bench.connector.hosts()
        assert any(host.up for host in hosts)
        assert len({host.name for host in hosts}) == len(hosts)
        assert all(host.name and "," not in host.name for host in hosts)

    def test_a_lost_host_is_down_and_evicts(
        self, bench: Bench, take_host: Callable[[str], None], give_host: Callable[[str], None]
    ) -> None:
        """A job whose host is lost is never COMPLETED, and the host is down until it is given back."""
        (host,) = bench.up(1)
        launch, gate = bench.waiter(hosts=(host,))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        take_host(host)
        try:
            bench.await_host(host, up=False)
            assert bench.until(launch, *_LOST).state in _LOST
            bench.connector.cancel(launch.attempt)
        finally:
            give_host(host)
        bench.await_host(host, up=True)
        gate.touch()
        bench.until(launch, JobState.REMOVED)
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()

    def test_a_host_given_back_runs_jobs(
        self, bench: Bench, take_host: Callable[[str], None], give_host: Callable[[str], None]
    ) -> None:
        """A host that went and came is as good as before."""
        (host,) = bench.up(1)
        take_host(host)
        try:
            bench.await_host(host, up=False)
        finally:
            give_host(host)
        bench.await_host(host, up=True)
        launch, diary = bench.diary(hosts=(host,))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert diary.read_text() == "0\n"

    # A job's life

    def test_a_job_runs_to_its_end(self, bench: Bench) -> None:
        """Submit → QUEUED or RUNNING → RUNNING → COMPLETED, with times in order and exit code 0."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        before = time.time()
        job = bench.submit(launch)
        first = bench.until(launch, JobState.QUEUED, JobState.RUNNING)
        assert first.finished is None
        assert first.exit_code is None
        running = bench.until(launch, JobState.RUNNING)
        assert running.started is not None
        gate.touch()
        report = bench.until(launch, JobState.COMPLETED)
        assert report.attempt == launch.attempt
        assert report.job == job
        assert report.exit_code == 0
        assert report.started is not None
        assert report.finished is not None
        # Managers that write whole seconds cut them off.
        assert int(before) <= report.started <= report.finished <= time.time() + 1

    @pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
    def test_a_failure_is_reported_with_its_code(self, bench: Bench, script: str, code: int) -> None:
        """Another exit code than 0 is FAILED with that code; a signal n is 128 + n."""
        launch = bench.shell(script, hosts=bench.up(1))
        bench.submit(launch)
        report = bench.until(launch, JobState.FAILED)
        assert report.exit_code == code
        assert report.finished is not None

    def test_one_process_that_fails_fails_the_job(self, bench: Bench) -> None:
        """The exit code of a job on several hosts is the first in rank order that is not 0."""
        launch = bench.shell('exit "$((COSCHED_RANK * 3))"', hosts=bench.up(3))
        bench.submit(launch)
        assert bench.until(launch, JobState.FAILED).exit_code == 3

    def test_every_host_runs_it_once_and_knows_its_place(self, bench: Bench) -> None:
        """A job on several hosts runs once on each, with the five variables set."""
        hosts = bench.up(3)
        script = 'echo "$COSCHED_RANK $COSCHED_HOST_COUNT $COSCHED_HOSTS $COSCHED_TASK $COSCHED_ATTEMPT" >> "$0"'
        diary = bench.workplace / "places"
        launch = bench.shell(script, str(diary), hosts=hosts)
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        names = ",".join(hosts)
        expected = [f"{rank} 3 {names} 17 {launch.attempt}" for rank in range(3)]
        assert sorted(diary.read_text().splitlines()) == expected

    def test_an_unpinned_job_runs_somewhere(self, bench: Bench) -> None:
        """A job that passes through runs where the manager likes, `count` times, with COSCHED_HOSTS empty."""
        diary = bench.workplace / "free"
        launch = bench.shell('echo "$COSCHED_RANK $COSCHED_HOST_COUNT [$COSCHED_HOSTS]" >> "$0"', str(diary), count=2)
        bench.submit(launch)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0
        assert sorted(diary.read_text().splitlines()) == ["0 2 []", "1 2 []"]

    def test_it_runs_in_its_directory(self, bench: Bench) -> None:
        """`directory` is the working directory."""
        folder = bench.workplace / "with space"
        folder.mkdir()
        folder.chmod(bench.workplace.stat().st_mode)
        launch = replace(bench.shell("pwd -P > here", hosts=bench.up(1)), directory=str(folder))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert (folder / "here").read_text().rstrip("\n") == str(folder.resolve())

    def test_output_is_kept_for_each_rank(self, bench: Bench, outputs: Callable[[str], Path]) -> None:
        """Standard output and error of rank r are out.r and err.r."""
        launch = bench.shell('echo "out $COSCHED_RANK"; echo "err $COSCHED_RANK" >&2', hosts=bench.up(2))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        folder = outputs(launch.attempt)
        for rank in (0, 1):
            bench.await_file(folder / f"err.{rank}")
            assert (folder / f"out.{rank}").read_text() == f"out {rank}\n"
            assert (folder / f"err.{rank}").read_text() == f"err {rank}\n"

    # What goes in comes out as it is, and nothing of it is executed

    def test_arguments_arrive_verbatim(self, bench: Bench) -> None:
        """Spaces, quotes, dollars, backticks, newlines and letters of the world are text and nothing else."""
        file = bench.workplace / "arguments"
        script = r'''for a; do printf '%s\000' "$a"; done > "$0"'''
        launch = bench.shell(script, str(file), *_AWKWARD, hosts=bench.up(1))
        launch = replace(launch, directory=str(bench.workplace))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert tuple(file.read_bytes().decode().split("\0")[:-1]) == _AWKWARD
        assert not list(bench.workplace.rglob("hacked"))

    @pytest.mark.parametrize("value", ["a b", "", "'\"", "$HOME $(touch hacked) `touch hacked`", "one\ntwo", "a;b=c"])
    def test_environment_arrives_verbatim(self, bench: Bench, value: str) -> None:
        """A value of the environment is text and nothing else."""
        file = bench.workplace / "value"
        launch = bench.shell('printf %s "$MINE" > "$0"', str(file), hosts=bench.up(1))
        launch = replace(launch, environment={"MINE": value}, directory=str(bench.workplace))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert file.read_text() == value
        assert not list(bench.workplace.rglob("hacked"))

    def test_the_environment_cannot_change_its_place(self, bench: Bench) -> None:
        """The COSCHED_ variables win over the user's environment."""
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.submit(replace(launch, environment={"COSCHED_RANK": "99"}))
        bench.until(launch, JobState.COMPLETED)
        assert diary.read_text() == "0\n"

    @pytest.mark.parametrize("name", ["x\n#SBATCH --uid=0", "a\rb", "nul\0", "$ENV(PATH)", "$(touch hacked)", "-h"])
    def test_unsafe_names_are_refused(self, bench: Bench, name: str) -> None:
        """A name with control characters, `$` or a leading dash never reaches the manager."""
        launch, diary = bench.diary(hosts=bench.up(1))
        self._refused(bench, replace(launch, name=name))
        assert not diary.exists()

    @pytest.mark.parametrize("argument", ["nul\0byte", "\ud800"])
    def test_arguments_that_no_system_can_pass_are_refused(self, bench: Bench, argument: str) -> None:
        """NUL and lone surrogates cannot be in an argument vector."""
        self._refused(bench, bench.launch("/bin/echo", argument, hosts=bench.up(1)))

    @pytest.mark.parametrize("variable", ["", "A=B", "A B", "A\nB", "$A", "1A"])
    def test_bad_names_of_variables_are_refused(self, bench: Bench, variable: str) -> None:
        """A variable's name is letters, digits and underscores."""
        launch = replace(bench.launch("/bin/true", hosts=bench.up(1)), environment={variable: "x"})
        self._refused(bench, launch)

    def test_an_empty_command_is_refused(self, bench: Bench) -> None:
        """There must be something to run."""
        self._refused(bench, bench.launch(hosts=bench.up(1)))

    def test_an_unknown_host_does_not_run_it(self, bench: Bench) -> None:
        """A host that does not exist is refused, or the job waits for it; it runs nowhere else."""
        launch, diary = bench.diary(hosts=("no-such-host",))
        try:
            bench.submit(launch)
        except (UserError, ConnectorError) as error:
            assert "no-such-host" in str(error)  # noqa: PT017  an error is one of two right answers
        time.sleep(self.quiet)
        assert not diary.exists()

    @pytest.mark.parametrize("executable", ["/no/such/program", "no-such-program", "-h", "../../etc/passwd", "/etc"])
    def test_a_program_that_cannot_start_fails_with_a_reason(self, bench: Bench, executable: str) -> None:
        """What cannot be executed ends as FAILED, or is refused: it neither hangs nor passes for done."""
        launch = bench.launch(executable, hosts=bench.up(1))
        try:
            bench.submit(launch)
        except (UserError, ConnectorError) as error:
            assert str(error)  # noqa: PT017  an error is one of two right answers
            return
        report = bench.until(launch, JobState.FAILED, JobState.HELD)
        assert report.reason or report.exit_code in (126, 127)

    # At most once

    def test_submitting_twice_runs_once(self, bench: Bench) -> None:
        """The second submit of a UUID changes nothing, whether the job runs or has ended."""
        launch, diary = bench.diary(hosts=bench.up(1))
        job = bench.submit(launch)
        assert self._again(bench, launch) in (job, "")
        bench.until(launch, JobState.COMPLETED)
        assert self._again(bench, launch) in (job, "")
        time.sleep(self.quiet)
        assert diary.read_text() == "0\n"

    def test_submitting_again_after_a_restart_runs_once(self, bench: Bench) -> None:
        """A daemon that died after its submit and tries again does not make a second job."""
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.submit(launch)
        bench.restart()
        self._again(bench, launch)
        bench.until(launch, JobState.COMPLETED)
        time.sleep(self.quiet)
        assert diary.read_text() == "0\n"

    def test_cancel_ends_a_running_job(self, bench: Bench) -> None:
        """A cancelled job is REMOVED and its processes are gone; twice is as good as once."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        bench.connector.cancel(launch.attempt)
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        gate.touch()
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()

    def test_cancel_takes_a_waiting_job_out(self, bench: Bench) -> None:
        """A job that waits for a busy host is REMOVED and never runs."""
        hosts = bench.up(1)
        first, gate = bench.waiter(hosts=hosts)
        bench.submit(first)
        bench.until(first, JobState.RUNNING)
        second, diary = bench.diary(hosts=hosts)
        bench.submit(second)
        bench.until(second, JobState.QUEUED)
        bench.connector.cancel(second.attempt)
        bench.until(second, JobState.REMOVED)
        gate.touch()
        bench.until(first, JobState.COMPLETED)
        time.sleep(self.quiet)
        assert not diary.exists()

    def test_a_waiting_job_runs_when_its_host_is_free(self, bench: Bench) -> None:
        """A job on a busy host waits, and two never share a host."""
        hosts = bench.up(1)
        first, gate = bench.waiter(hosts=hosts)
        bench.submit(first)
        bench.until(first, JobState.RUNNING)
        second, diary = bench.diary(hosts=hosts)
        bench.submit(second)
        time.sleep(self.quiet)
        assert not diary.exists()
        gate.touch()
        bench.until(second, JobState.COMPLETED)
        ended, began = bench.report(first).finished, bench.report(second).started
        assert ended is not None
        assert began is not None
        assert int(ended) <= began

    def test_cancel_of_what_has_ended_changes_nothing(self, bench: Bench) -> None:
        """A finished job stays as it ended."""
        launch, _ = bench.diary(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        bench.connector.cancel(launch.attempt)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0

    def test_cancel_of_the_unknown_is_no_error(self, bench: Bench) -> None:
        """To cancel what the manager never saw is fine, twice too."""
        attempt = str(uuid.uuid4())
        bench.connector.cancel(attempt)
        bench.connector.cancel(attempt)
        assert bench.connector.status([attempt])[attempt].state in (JobState.UNKNOWN, JobState.REMOVED)

    def test_cancel_fences_a_submit_that_comes_late(self, bench: Bench) -> None:
        """After a cancel, a submit of that UUID never runs: it is refused, or accepted and REMOVED.

        The co-scheduler takes an attempt for lost only after it has fenced it in this way. A manager that cannot
        keep such a promise overrides this test and says how else a submit that was under way is kept from running.
        """
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.connector.cancel(launch.attempt)
        self._again(bench, launch)
        bench.restart()
        self._again(bench, launch)
        time.sleep(self.quiet)
        assert not diary.exists()
        assert bench.report(launch).state in (JobState.REMOVED, JobState.UNKNOWN)

    # Memory

    def test_find_knows_a_job_before_and_after_its_end(self, bench: Bench) -> None:
        """`find` looks into the queue and the history."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        job = bench.submit(launch)
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert found.job == job
        assert not found.state.final
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert (found.state, found.exit_code) == (JobState.COMPLETED, 0)

    def test_the_unknown_is_unknown(self, bench: Bench) -> None:
        """What was never submitted is found nowhere, and its status is UNKNOWN: not done, not gone."""
        attempt = str(uuid.uuid4())
        assert bench.connector.find(attempt) is None
        assert bench.connector.status([attempt]) == {attempt: JobReport(attempt, JobState.UNKNOWN)}
        assert bench.connector.status([]) == {}

    def test_status_answers_for_many(self, bench: Bench) -> None:
        """One call reports on many attempts, each by its own UUID."""
        hosts = bench.up(3)
        launches = [bench.shell(f"exit {rank}", hosts=(host,)) for rank, host in enumerate(hosts)]
        for launch in launches:
            bench.submit(launch)
        for launch in launches:
            bench.until(launch, JobState.COMPLETED, JobState.FAILED)
        stranger = str(uuid.uuid4())
        reports = bench.connector.status([*(launch.attempt for launch in launches), stranger])
        assert [reports[launch.attempt].exit_code for launch in launches] == [0, 1, 2]
        assert reports[stranger].state is JobState.UNKNOWN

    # Events

    def test_events_tell_start_and_end(self, bench: Bench) -> None:
        """Start and end arrive as events, in order, with the data that `status` gives."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        job = bench.submit(launch)
        running = bench.listen(launch, JobState.RUNNING)[-1]
        assert running.started is not None
        gate.touch()
        seen = bench.listen(launch, JobState.COMPLETED, JobState.FAILED)
        assert [report.state for report in seen if report.state.final] == [JobState.COMPLETED]
        last = seen[-1]
        assert (last.job, last.exit_code) == (job, 0)
        assert last.started is not None
        assert last.finished is not None
        assert last.started <= last.finished

    def test_events_tell_of_a_cancel(self, bench: Bench) -> None:
        """The end of a cancelled job is an event too."""
        launch, _ = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.listen(launch, JobState.RUNNING)
        bench.connector.cancel(launch.attempt)
        assert bench.listen(launch, JobState.REMOVED, JobState.COMPLETED, JobState.FAILED)[-1].state is JobState.REMOVED

    def test_no_news_is_an_empty_list(self, bench: Bench) -> None:
        """`events` comes back after its timeout when nothing happened."""
        assert list(bench.connector.events(0.0)) == []
        assert list(bench.connector.events(0.05)) == []

    # Restart

    def test_a_restart_finds_what_runs(self, bench: Bench) -> None:
        """A new object knows the running job and hears of its end."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        job = bench.submit(launch)
        began = bench.until(launch, JobState.RUNNING).started
        bench.restart()
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert (found.state, found.job) == (JobState.RUNNING, job)
        assert found.started == pytest.approx(began, abs=1.0)
        gate.touch()
        assert bench.listen(launch, JobState.COMPLETED, JobState.FAILED)[-1].exit_code == 0

    def test_a_restart_hears_of_what_ended_meanwhile(self, bench: Bench) -> None:
        """An end that nobody saw is reported to the next object."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)

        def meanwhile() -> None:
            gate.touch()
            bench.await_file(gate.with_name(gate.name + ".done"))

        bench.restart(meanwhile)
        assert bench.listen(launch, JobState.COMPLETED, JobState.FAILED)[-1].state is JobState.COMPLETED

    def test_a_restart_can_cancel(self, bench: Bench) -> None:
        """A new object cancels what an old one submitted."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        bench.restart()
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        gate.touch()
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()

    @staticmethod
    def _refused(bench: Bench, launch: Launch) -> None:
        with pytest.raises(UserError):
            bench.submit(launch)
        assert bench.report(launch).state is JobState.UNKNOWN

    @staticmethod
    def _again(bench: Bench, launch: Launch) -> str:
        """Submit a UUID that was used before; a refusal is fine and gives no job."""
        try:
            return bench.submit(launch)
        except ConnectorError as error:
            assert not error.transient  # noqa: PT017  an error is one of two right answers
            return ""
