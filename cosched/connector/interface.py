"""A connector: eight verbs between cosched and a resource manager, and answers that some connectors give besides.

Start at `Connector`. It blocks and keeps no state that a crash could lose: the attempt's UUID travels in the native
job. `hosts` and `jobs` hold the values; times are epoch seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from cosched.connector.hosts import HostShare
from cosched.errors import CoschedError, SystemFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.connector.hosts import Host
    from cosched.connector.jobs import JobReport, Launch, LaunchMode, Output

__all__ = [
    "AdoptableJob",
    "AdoptsJobs",
    "Connector",
    "ConnectorError",
    "Mail",
    "StartDiagnosis",
    "StartVerdict",
]


class ConnectorError(SystemFault):
    """The resource manager could not do it.

    Attributes:
        transient: True where the same call may succeed later (busy, unreachable); False where it never will.
        refused: True where a submit that may succeed later was turned away for now (a limit, a full queue), so that the
            manager certainly has nothing of it: it need not be looked for. Of a user's own job, which is let go: this
            job alone cannot be, for now.
    """

    def __init__(self, message: str, *, transient: bool, refused: bool = False) -> None:
        super().__init__(message)
        self.transient = transient
        self.refused = refused


class Connector(ABC):
    """A resource manager as cosched uses it: the base class of connectors. Methods block.

    The methods without an answer here are what every connector has to do. The others stand below them; their answers
    here do for a manager that has no more to say. Each method is called from one thread at a time.

    A connector class is built with its table of the configuration: `MyConnector(settings: Mapping[str, object])`,
    raises `UserError` where a key is unknown or wrong (named, with what was expected), and makes no connection yet.

    Attributes:
        name: of the connector, by which configurations choose it.
    """

    name: str

    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """Return all hosts of the domain, down ones included as far as they are known.

        Raises:
            ConnectorError: the manager does not answer.
        """

    @abstractmethod
    def submit(self, launch: Launch) -> str:
        """Hand one attempt to the manager and return the native job's identifier.

        Submitting the same UUID twice never runs it twice. An error does not mean that nothing was submitted:
        the caller asks `find` before it tries again.

        Raises:
            ConnectorError: not accepted, or the answer was lost (`transient`).
            UserError: a value of the launch cannot be carried safely.
        """

    @abstractmethod
    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Return a report for each attempt, state UNKNOWN for those the manager does not show.

        Raises:
            ConnectorError: the manager does not answer.
        """

    @abstractmethod
    def cancel(self, attempt: str) -> None:
        """Keep the attempt from running, now or later; repeated and unknown UUIDs are fine.

        Raises:
            ConnectorError: the manager does not answer.
        """

    @abstractmethod
    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in queue and history; None if it is in neither.

        Raises:
            ConnectorError: one of the two could not be read: nothing is known.
        """

    @abstractmethod
    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return reports of changes since the last call, waiting up to `timeout` seconds for one.

        May report again what was reported before (after a restart), in order for each attempt.

        Raises:
            ConnectorError: the source of events cannot be read.
        """

    @abstractmethod
    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of a process's output; None where nothing of it is kept (yet).

        Args:
            attempt: the UUID.
            stream: "out" or "err".
            rank: rank of the process.
            offset: first byte; negative counts from the end.
            limit: most bytes to return.

        Raises:
            ConnectorError: it cannot be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Release processes and files of this object; jobs go on."""

    @property
    def home(self) -> str:
        """Where its jobs are: its spool and whatever else its settings name of that, in words for people.

        A daemon that has live jobs refuses to start where this, or the connector's name, is not what it was: with
        another connector they would not be found again.
        """
        return ""

    @property
    def calls(self) -> Mapping[str, int]:
        """Number of questions to the manager by kind; empty where they are not counted."""
        return {}

    @property
    def mail(self) -> Mail | None:
        """The mailboxes of attempts that ask for one (`Launch.mailbox`).

        None where there is no folder that cosched and the hosts both reach.
        """
        return None

    @property
    def adoption(self) -> AdoptsJobs | None:
        """The gate before jobs that users submit to the manager themselves; None where they cannot wait for cosched.

        With it, `submit` opens the gate of a launch with `adopted`, on its hosts; `cancel` removes the job.
        """
        return None

    def remarks(self) -> Sequence[str]:
        """Return what the administrator should look at although all works, a line each, as of the last `hosts`.

        The daemon logs each line once, and shows those that still hold.
        """
        return ()

    def check_task(self, owner: str, launch: LaunchMode) -> None:  # noqa: B027 -- most take the tasks of all
        """Refuse the tasks of an owner that are launched so, if `submit` would refuse all of them for good.

        What would be refused when it starts, perhaps at night, is refused when it is submitted. It asks the manager
        nothing, and any thread may call it.

        Raises:
            UserError: says what would be taken.
        """

    def submit_many(self, launches: Sequence[Launch]) -> Mapping[str, str | CoschedError]:
        """Hand attempts over together; return each one's native identifier or error, by UUID.

        A manager that takes many jobs at once gets them, for example, as a list to queue from or as an array of jobs.
        Each of them is afterwards an attempt like any other, found, cancelled and reported on by its own UUID: all
        promises of `submit` hold for it.
        """
        outcomes: dict[str, str | CoschedError] = {}
        for launch in launches:
            try:
                outcomes[launch.attempt] = self.submit(launch)
            except CoschedError as error:
                outcomes[launch.attempt] = error
        return outcomes

    def call_back(self, attempt: str) -> bool:
        """Cancel an attempt as `cancel` does, unless each of its processes has begun; return whether it did.

        False: nothing was changed, also no fence is left; all of its processes run, or have ended. A manager that
        cannot tell whether a job has begun, as it removes it, ends what has begun.

        Raises:
            ConnectorError: the manager does not answer: the attempt may be cancelled or not.
        """
        self.cancel(attempt)
        return True

    def diagnose(self, attempt: str) -> StartDiagnosis:  # noqa: ARG002 -- nothing is known of any
        """Return why an attempt in the queue has not begun, as far as the manager says. It is asked seldom.

        Raises:
            ConnectorError: the manager does not answer.
        """
        return StartDiagnosis()


class Mail(Protocol):
    """Small files between cosched and the processes of attempts with a mailbox.

    A mailbox is a folder that the job's user alone reaches, as far as the manager's own folders let others in. In it
    are the files of `put`, each whole or absent, and a folder `answers`. There the process puts `*.json` files, each
    renamed into its place when it is whole, and whatever else it keeps for its own.
    """

    def put(self, attempt: str, name: str, text: str) -> None:
        """Put a file into the mailbox, over an earlier one of this name.

        Raises:
            ConnectorError: it cannot be written, or the attempt has no mailbox (yet).
        """
        ...

    def answers(self, attempt: str) -> Mapping[str, str]:
        """Return the process's answers by their files' names, in their order; an empty text for what cannot be one.

        Raises:
            ConnectorError: they cannot be read.
        """
        ...

    def drop_answers(self, attempt: str, names: Sequence[str]) -> None:
        """Delete answers that were taken; one that is gone is fine."""
        ...


class StartVerdict(StrEnum):
    """Whether a job that has not begun will begin by itself."""

    STARTING = "starting"  # the manager is about it: it has a host, or files are on their way
    WAITING = "waiting"  # nothing is known that keeps it from beginning
    CLOSED = "closed"  # the manager names what keeps it now, and that passes: a closed partition, others' jobs, a limit
    BLOCKED = "blocked"  # the manager names what keeps it, and that is its own: waiting alone does not help


@dataclass(frozen=True, slots=True)
class StartDiagnosis:
    """The manager's answer to why a job has not begun.

    Attributes:
        verdict: see `StartVerdict`.
        reason: the manager's words, one line for people; empty where it names nothing.
    """

    verdict: StartVerdict = StartVerdict.WAITING
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AdoptableJob:
    """A job in the manager's queue, submitted by its user, behind cosched's gate.

    Attributes:
        key: names this job and never another one, also after its end.
        job: native identifier, for people.
        owner: name of its user.
        submitted: epoch seconds, from which its relative times count.
        command: its program and arguments, for people.
        directory: its working directory.
        options: what the user asks of cosched, by the names of `cosched task submit`: deadline, runtime, application …
        parameters: those of its application, by name.
        fault: why options or parameters cannot be read; empty where they can.
        hosts: how many it may have, "2-8"; empty where the manager's own jobs have one host.
        needs: what it takes of each host; 0 for what is not known.
        partition: the manager's partitions in one of which it is to run, joined by commas; empty where there are none.
        begin: epoch seconds before which its user does not want it to begin; None where he does not care.
        held: whether its user holds it.
        running: whether it runs.
        ended: whether it ran to its end, and for no attempt.
        report: report on the attempt that it was let go for; None where there is none.
    """

    key: str
    job: str
    owner: str
    submitted: float
    command: tuple[str, ...]
    directory: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    hosts: str = ""
    needs: HostShare = field(default_factory=HostShare)
    partition: str = ""
    begin: float | None = None
    held: bool = False
    running: bool = False
    ended: bool = False
    report: JobReport | None = None


class AdoptsJobs(Protocol):
    """The gate before users' own jobs in the manager's queue.

    Behind it each waits for a lease that the manager itself lets lapse.

    Attributes:
        name: the manager's.
    """

    name: str

    def adoptable_jobs(self) -> Sequence[AdoptableJob]:
        """Return all jobs with a gate in the queue.

        Those that run are among them, and those that ended without an attempt, where the manager shows them.

        Raises:
            ConnectorError: the manager does not answer.
        """
        ...

    def retract(self, attempt: str, key: str) -> bool:
        """Close the gate of a job; return whether it waits for no attempt now.

        Returns False where the job has begun or ended; repeated calls are fine.

        Raises:
            ConnectorError: the manager does not answer, or refuses.
        """
        ...

    def renew(self, until: float) -> None:
        """Make the leases of all jobs behind gates end at this epoch time."""
        ...

    def ran_alone(self, key: str) -> bool:
        """Return whether a job that the queue no longer shows ran to its end, and for no attempt.

        A later `submit` with it is accepted, and its attempt's reports say what it did.

        Raises:
            ConnectorError: the manager does not answer.
        """
        ...

    def abandon(self, key: str, reason: str) -> None:
        """Open a job's gate for ever, with the reason where its user finds it."""
        ...

    def remove(self, key: str, reason: str) -> None:
        """Remove a job from the queue, for a reason that its user is told."""
        ...
