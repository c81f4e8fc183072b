"""Trouble inside a daemon under test: its clock is set, its resource manager is away, slow, or lies.

The harness writes a file; a forked daemon reads it at each look at its clock and each call of its connector. The
machine's clock and the manager itself are not touched. Start at `begin`.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, JobReport, JobState
from cosched.connector.interface import Connector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cosched.connector import Host, Launch, LaunchMode, Output
    from cosched.connector.interface import StartDiagnosis
    from cosched.errors import CoschedError

__all__ = ["MANNERS", "Trouble", "TroubleFile", "TroubledConnector", "begin"]

MANNERS = ("away", "slow", "lying")
_SLOW = (0.1, 2.0)  # seconds that a slow manager takes for an answer
_REPEATED = 20  # reports of before that a liar tells again

# Shares of a liar's answers.
_BUSY = 0.2  # calls that fail before anything is done
_LOST = 0.4  # submissions and cancels that are carried out and whose answer is lost
_LATE = 0.4  # reports of events that come with the next ones
_AGAIN = 0.5  # answers with events after which old ones are told again
_UNKNOWN = 0.3  # reports of a state that nobody knows
_GONE = 0.7  # jobs that are said to be in neither queue nor history
_DOWN = 0.2  # hosts that are said to be down


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a daemon has to live with.

    Attributes:
        clock: seconds by which its wall clock is ahead of the machine's.
        manner: of the manager, see `MANNERS`; empty where it is honest.
        until: monotonic time at which the manager is honest again, even if the harness is late.
        seed: of what a manager draws.
    """

    clock: float = 0.0
    manner: str = ""
    until: float = 0.0
    seed: int = 0


class TroubleFile:
    """The file that tells a daemon of its trouble; both sides use it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen = 0
        self._trouble = Trouble()

    def write(self, trouble: Trouble) -> None:
        """Make trouble."""
        part = self._file.with_name(f"{self._file.name}.part")
        part.write_text(json.dumps(asdict(trouble)))
        part.replace(self._file)

    def read(self) -> Trouble:
        """Return the trouble of now."""
        try:
            inode = self._file.stat().st_ino
        except FileNotFoundError:
            return self._trouble
        if inode != self._seen:
            self._trouble, self._seen = Trouble(**json.loads(self._file.read_text())), inode
        if self._trouble.manner and time.monotonic() > self._trouble.until:
            self._trouble = replace(self._trouble, manner="")
        return self._trouble


class _Clock:
    """A module `time` whose wall clock is set."""

    def __init__(self, file: TroubleFile) -> None:
        self._file = file

    def time(self) -> float:
        return time.time() + self._file.read().clock

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class TroubledConnector(Connector):
    """A connector whose manager is away, slow or lies, as a file has it.

    A liar's answers are late, repeated, lost, or say for a while that a running job is gone or in an unknown state; it
    never says that a job has ended which has not.

    Attributes:
        name: of the connector.
        wrong: file to which a character is added for each wrong answer, so that they are counted over all daemons.
    """

    def __init__(self, connector: Connector, file: TroubleFile, wrong: Path) -> None:
        self.name = connector.name
        self.wrong = wrong
        self._connector = connector
        self._file = file
        self._chance = random.Random(file.read().seed)
        self._guard = threading.Lock()
        self._told: deque[JobReport] = deque(maxlen=_REPEATED)
        self._held: list[JobReport] = []

    @property
    def calls(self) -> Mapping[str, int]:
        """Counts of calls, by verb."""
        return self._connector.calls

    def hosts(self) -> Sequence[Host]:
        self._begin()
        hosts = self._connector.hosts()
        return [replace(host, up=False, reason="so it is said") if self._lies(_DOWN) else host for host in hosts]

    def submit(self, launch: Launch) -> str:
        self._begin()
        job = self._connector.submit(launch)
        self._lose("submit")
        return job

    def submit_many(self, launches: Sequence[Launch]) -> Mapping[str, str | CoschedError]:
        self._begin()
        outcomes = self._connector.submit_many(launches)
        self._lose("submit")
        return outcomes

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        self._begin()
        return {attempt: self._said(report) for attempt, report in self._connector.status(attempts).items()}

    def cancel(self, attempt: str) -> None:
        self._begin()
        self._connector.cancel(attempt)
        self._lose("cancel")

    def find(self, attempt: str) -> JobReport | None:
        self._begin()
        report = self._connector.find(attempt)
        return None if report is None or self._lies(_GONE) else self._said(report)

    def events(self, timeout: float) -> Sequence[JobReport]:
        self._begin()
        now = [*self._held, *self._connector.events(timeout)]
        self._held = [report for report in now if self._lies(_LATE)]
        reports = [report for report in now if report not in self._held]
        strange = [JobReport(report.attempt, JobState.UNKNOWN) for report in reports if self._lies(_UNKNOWN)]
        again = list(self._told) if self._lies(_AGAIN) else []
        self._told += reports
        return [*strange, *reports, *again]

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        self._begin()
        return self._connector.output(attempt, stream, rank, offset, limit)

    def close(self) -> None:
        self._connector.close()

    # These ask the manager nothing, which may be in trouble.
    @property
    def home(self) -> str:
        return self._connector.home

    def remarks(self) -> Sequence[str]:
        return self._connector.remarks()

    def check_task(self, owner: str, launch: LaunchMode) -> None:
        self._connector.check_task(owner, launch)

    def call_back(self, attempt: str) -> bool:
        self._begin()
        called_back = self._connector.call_back(attempt)
        self._lose("call_back")
        return called_back

    def diagnose(self, attempt: str) -> StartDiagnosis:
        self._begin()
        return self._connector.diagnose(attempt)

    def _begin(self) -> None:
        """Wait for a slow manager, and fail where it is away."""
        manner = self._file.read().manner
        if manner == "slow":
            self._count()
            time.sleep(self._draw(*_SLOW))
        if manner == "away":
            self._count()
            raise ConnectorError("the manager is away, as the harness has it", transient=True)
        if self._lies(_BUSY):
            raise ConnectorError("the manager is busy, as the harness has it", transient=True)

    def _lose(self, verb: str) -> None:
        if self._lies(_LOST):
            raise ConnectorError(f"the answer to a {verb} was lost, as the harness has it", transient=True)

    def _said(self, report: JobReport) -> JobReport:
        return JobReport(report.attempt, JobState.UNKNOWN) if self._lies(_UNKNOWN) else report

    def _lies(self, share: float) -> bool:
        lies = self._file.read().manner == "lying" and self._draw(0.0, 1.0) < share
        if lies:
            self._count()
        return lies

    def _draw(self, least: float, most: float) -> float:
        with self._guard:
            return self._chance.uniform(least, most)

    def _count(self) -> None:
        with self.wrong.open("ab") as file:
            file.write(b".")


def begin(file: Path) -> None:
    """Let this process, which is to be a daemon, live with what a file has.

    A simulated pool within it keeps the machine's clock: it stands for other machines.
    """
    from cosched.connector import registry
    from cosched.daemon import main

    trouble = TroubleFile(file)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "cosched" and getattr(module, "time", None) is time:
            vars(module)["time"] = _Clock(trouble)

    def load(kind: str, settings: Mapping[str, object]) -> Connector:
        connector = registry.load_connector(kind, settings)
        return TroubledConnector(connector, trouble, file.with_name("wrong-answers"))

    vars(main)["load_connector"] = load
