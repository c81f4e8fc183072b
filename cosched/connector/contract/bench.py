"""The tools of the contract's tests: one connector, many kinds of launches, and waiting.

`Bench` drives the connector under test; `ContractBase` holds the fixtures that a connector's tests define.
"""

from __future__ import annotations

import time
import uuid
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import pytest

from cosched.connector.interface import Connector, StartVerdict
from cosched.connector.jobs import JobReport, JobState, Launch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.connector.jobs import Output
    from cosched.errors import CoschedError

__all__ = ["Bench", "ContractBase"]

_Found = TypeVar("_Found")
_WAIT_FOR_FILE = 'while [ ! -e "$0" ]; do sleep 0.1; done'


class Bench:
    """One connector under test with its tools; leftover jobs are cancelled at the end.

    Attributes:
        connector: the object under test; `restart` replaces it.
        workplace: folder that both the tests and the jobs can write to.
        patience: longest wait for an expected change, seconds.
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
        return Launch(
            attempt=attempt,
            task="17",
            name="contract",
            command=command,
            hosts=hosts,
            count=len(hosts) or 1 if count is None else count,
            deadline=time.time() + 3600.0,
            application="contract",
        )

    def shell(self, script: str, *arguments: str, hosts: tuple[str, ...] = (), count: int | None = None) -> Launch:
        """Make a launch of a shell script; the first argument is its `$0`."""
        return self.launch("/bin/sh", "-c", script, *arguments, hosts=hosts, count=count)

    def waiter(self, *, hosts: tuple[str, ...] = ()) -> tuple[Launch, Path]:
        """Make a launch that ends when the returned file exists.

        At its end it makes a file of that name with `.done`.
        """
        gate = self.workplace / f"gate-{uuid.uuid4().hex}"
        return self.shell(_WAIT_FOR_FILE + '; : > "$0.done"', str(gate), hosts=hosts), gate

    def diary(self, *, hosts: tuple[str, ...] = ()) -> tuple[Launch, Path]:
        """Make a launch; each of its processes appends its rank to the returned file."""
        file = self.workplace / f"diary-{uuid.uuid4().hex}"
        return self.shell('echo "$COSCHED_RANK" >> "$0"', str(file), hosts=hosts), file

    def stayer(self, *, hosts: tuple[str, ...] = ()) -> tuple[Launch, Path]:
        """Make a launch whose processes stay until they are ended.

        Each appends its rank to the returned file first.
        """
        file = self.workplace / f"begun-{uuid.uuid4().hex}"
        return self.shell('echo "$COSCHED_RANK" >> "$0"; exec sleep 600', str(file), hosts=hosts), file

    def offers(self, verb: str) -> bool:
        """Return whether the connector gives an answer of its own where all have one."""
        return getattr(type(self.connector), verb) is not getattr(Connector, verb)

    def submit(self, launch: Launch) -> str:
        """Submit; the attempt is cancelled at the end of the test if it still lives."""
        return self.connector.submit(launch)

    def submit_many(self, launches: Sequence[Launch]) -> dict[str, str]:
        """Submit together and return the job of each attempt; none may be refused."""
        jobs = {attempt: job for attempt, job in self.hand_over(launches).items() if isinstance(job, str)}
        assert list(jobs) == [launch.attempt for launch in launches]
        return jobs

    def hand_over(self, launches: Sequence[Launch]) -> dict[str, str | CoschedError]:
        """Submit together and return what came of each attempt, in their order."""
        outcomes = self.connector.submit_many(launches)
        return {launch.attempt: outcomes[launch.attempt] for launch in launches}

    def listen_to_ends(self, launches: Sequence[Launch]) -> list[JobReport]:
        """Collect the event of each attempt's end."""
        missing = {launch.attempt for launch in launches}
        ends: list[JobReport] = []
        until = time.monotonic() + self.patience
        while missing:
            if time.monotonic() > until:
                pytest.fail(f"{len(missing)} ends were not told of within {self.patience} s")
            ends += [report for report in self.connector.events(0.2) if report.state.final]
            missing -= {report.attempt for report in ends}
        return ends

    def running(self, *hosts: str) -> tuple[Launch, Path]:
        """Submit a launch as `waiter` makes it and wait for the event that it runs."""
        launch, gate = self.waiter(hosts=hosts)
        self.submit(launch)
        self.listen(launch, JobState.RUNNING)
        return launch, gate

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
            time.sleep(0.05)

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
        self._wait(path.exists, f"no job made {path.name}")

    def written(self, launch: Launch, stream: str, rank: int) -> Output:
        """Wait until the connector gives back what a process wrote, and return it."""

        def read() -> Output | None:
            return self.connector.output(launch.attempt, stream, rank, 0, 65536)

        return self._wait(read, f"nothing of std{stream} of rank {rank} came back")

    def await_host(self, name: str, *, up: bool) -> None:
        """Wait until the connector shows the host up, or down or absent."""

        def shown() -> bool:
            return up == any(host.up for host in self.connector.hosts() if host.name == name)

        self._wait(shown, f"host {name} was not {'up' if up else 'down'}")

    def await_claim(self, name: str, *, claimed: bool) -> None:
        """Wait until the connector shows whether a foreign job has claimed the host."""

        def shown() -> bool:
            return claimed == any(host.claimed for host in self.connector.hosts() if host.name == name)

        self._wait(shown, f"host {name} was {'not' if claimed else 'still'} claimed")

    def await_obstacle(self, launch: Launch) -> None:
        """Wait until the connector says that an attempt is not starting."""

        def found() -> bool:
            diagnosis = self.connector.diagnose(launch.attempt)
            assert "\n" not in diagnosis.reason
            return diagnosis.verdict is not StartVerdict.STARTING

        self._wait(found, "an attempt behind another was said to be starting, and nothing else")

    def _wait(self, found: Callable[[], _Found | None], missing: str) -> _Found:
        """Return the first true value that `found` returns; fail with `missing` after the patience."""
        end = time.monotonic() + self.patience
        while not (value := found()):
            if time.monotonic() > end:
                pytest.fail(f"{missing} within {self.patience} s")
            time.sleep(0.05)
        return value

    def restart(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Replace the connector by a new object, as a restarted daemon does."""
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


class ContractBase:
    """The fixtures that all parts of the contract use.

    Attributes:
        patience: seconds to wait for what must come; raise it for a manager that is slow to schedule.
        quiet: seconds to watch for what must not come: longer than the manager needs to start a job.
        clusters: cluster of each host, as the connector under test is set; of hosts that have none nothing is said.
    """

    patience: float = 10.0
    quiet: float = 0.5
    clusters: Mapping[str, str] = MappingProxyType({})

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
        """Return a function from an attempt's UUID to the folder of its out.<rank> and err.<rank>."""
        pytest.skip("the tests of this connector cannot see the output of its jobs")

    @pytest.fixture
    def workplace(self, tmp_path: Path) -> Path:
        """Return a folder that tests and jobs can write to, open to others if needed."""
        return tmp_path

    @pytest.fixture
    def bench(self, connect: Callable[[], Connector], workplace: Path) -> Iterator[Bench]:
        """Yield the connector under test with its tools, then cancel leftover jobs."""
        bench = Bench(connect, workplace, self.patience)
        yield bench
        bench.clear()
