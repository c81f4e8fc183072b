"""A connector: seven verbs between cosched and a resource manager, and submission of several.

hosts, submit, status, cancel, find, events, output: see `Connector`. It blocks and keeps no state that a crash could
lose: the attempt's UUID travels in the native job. All times are seconds since the epoch.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cosched.errors import CoschedError, SystemFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cosched.connector.values import NativeDescription

__all__ = [
    "AdoptableJob",
    "AdoptsJobs",
    "CallsBack",
    "Connector",
    "ConnectorError",
    "DiagnosesStarts",
    "Host",
    "HostShare",
    "JobReport",
    "JobState",
    "Launch",
    "LaunchMode",
    "Output",
    "StartDiagnosis",
    "StartVerdict",
    "SubmitOutcomes",
    "SubmitsMany",
    "submit_many",
]


class ConnectorError(SystemFault):
    """The resource manager could not do it.

    Attributes:
        transient: True where the same call may succeed later (busy, unreachable); False where it never will.
        refused: True where a submit that may succeed later was turned away for now (a limit, a full queue), so that the
            manager certainly has nothing of it: it need not be looked for.
    """

    def __init__(self, message: str, *, transient: bool, refused: bool = False) -> None:
        super().__init__(message)
        self.transient = transient
        self.refused = refused


@dataclass(frozen=True, slots=True)
class HostShare:
    """Part of a host: memory in MiB, cores, GPUs."""

    memory: int = 0
    cores: int = 0
    gpus: int = 0

    def __add__(self, other: HostShare) -> HostShare:
        return HostShare(self.memory + other.memory, self.cores + other.cores, self.gpus + other.gpus)

    def __sub__(self, other: HostShare) -> HostShare:
        return HostShare(self.memory - other.memory, self.cores - other.cores, self.gpus - other.gpus)

    def within(self, other: HostShare) -> bool:
        """Return whether another share has as much of each."""
        return self.memory <= other.memory and self.cores <= other.cores and self.gpus <= other.gpus


@dataclass(frozen=True, slots=True)
class Host:
    """One place in a domain: a machine, a static slot.

    Attributes:
        name: the manager's own name for it, unique in the domain.
        host_class: name of its resource model (HMCL); empty where the manager does not say, then configuration decides.
        up: False while it is down, draining, off-line or absent.
        reason: why it is not up, or the job that has it, for people.
        claimed: True while a foreign job has it; nothing is pinned to it then. Where hosts are shared it only counts if
            `others` is empty.
        free_at: when the manager expects it to be free of that; None where it does not say.
        memory: MiB that a job may have of it; None where the manager does not say, as for cores and GPUs.
        cores: that a job may have of it.
        gpus: that a job may have of it.
        others: what foreign jobs hold of these; in a domain that shares its hosts the rest may be pinned. Said beside
            `claimed`, which counts where hosts are not shared.
    """

    name: str
    host_class: str = ""
    up: bool = True
    reason: str = ""
    claimed: bool = False
    free_at: float | None = None
    memory: int | None = None
    cores: int | None = None
    gpus: int | None = None
    others: HostShare = HostShare()

    def offers(self, memory: int, cores: int, gpus: int) -> bool:
        """Return whether a job may have so much of it, as far as is known."""
        known = ((self.memory, memory), (self.cores, cores), (self.gpus, gpus))
        return all(there is None or wanted <= there for there, wanted in known)


class LaunchMode(StrEnum):
    """How a task's command is launched on its hosts."""

    EACH = "each"  # once on each host
    ONCE = "once"  # on the first host; it finds the others
    OPENMPI = "openmpi"  # by Open MPI's mpirun on the first host, which starts ranks on all
    MPICH = "mpich"  # by MPICH's
    INTEL = "intel"  # by Intel MPI's

    @property
    def once(self) -> bool:
        """Return whether one process is started, on the first host."""
        return self is not LaunchMode.EACH

    def ranks(self, processes_per_host: int) -> int:
        """Return how many ranks each host gets; 0 where no launcher of MPI says it, as programs start their own."""
        return processes_per_host if self in (LaunchMode.OPENMPI, LaunchMode.MPICH, LaunchMode.INTEL) else 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One attempt at a task with all that a connector needs to run it.

    The command runs as `launch` says. Beside `environment` every process sees COSCHED_TASK, COSCHED_ATTEMPT,
    COSCHED_RANK (0 … count-1), COSCHED_HOST_COUNT, COSCHED_HOSTS (names in rank order, joined by commas),
    COSCHED_HOST_FILE (a file with these names, one in each line), COSCHED_HOST_CLASSES (one for each host, empty where
    not known) and COSCHED_PARAMETER_<name>.

    Attributes:
        attempt: UUID, written durably before submission; travels in the native job.
        task: identifier of the task.
        name: a name for people; printable, checked by `cosched.connector.values`.
        command: argument vector; passed to the operating system as it is, never through a shell.
        hosts: the pinned hosts, in rank order; empty for a task that passes through and lets the manager choose.
        count: number of processes; `len(hosts)` when pinned.
        environment: additions to the job's environment.
        directory: working directory of the job; empty for the attempt's own spool directory.
        predicted: expected run time in seconds, where known. Never a kill time.
        time_limit: seconds after which the manager may end the job; None for no limit.
        prepare: argument vector that runs on each host before the command, in its directory and environment; where it
            ends with another code than 0, the process ends with that code and the command does not run. Empty for none.
        classes: classes of the hosts, in rank order; empty where not known.
        parameters: parameters of the application.
        owner: user whose task it is; empty where the daemon does not tell users apart.
        native: the job in the manager's own words; its settings win over the connector's, and its script or program
            runs in place of `command`. None for a task that cosched describes.
        deadline: deadline of the task as it is submitted, epoch seconds, for the manager's own tools to show; None for
            none.
        application: its name, for the same.
        launch: on each host, or once; `prepare` runs where the command does.
        processes_per_host: ranks of a parallel program on each host.
        stdin: file that the command reads as its standard input, absolute; empty for none.
        memory: MiB that it needs on each host; 0: what the connector's settings say, as for cores and GPUs.
        cores: that it needs on each host.
        gpus: that it needs on each host.
        shared: False: the job has its hosts for itself. True: it takes only `cores`, `memory` and `gpus` of each, which
            say all that it may use, and other jobs run beside it. Cores are at least 1.
        adopted: key of the job to let go, which a user submitted to the manager (`AdoptsJobs`); empty for others.
    """

    attempt: str
    task: str
    name: str
    command: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    count: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    predicted: float | None = None
    time_limit: float | None = None
    prepare: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    owner: str = ""
    native: NativeDescription | None = None
    deadline: float | None = None
    application: str = ""
    launch: LaunchMode = LaunchMode.EACH
    processes_per_host: int = 1
    stdin: str = ""
    memory: int = 0
    cores: int = 0
    gpus: int = 0
    shared: bool = False
    adopted: str = ""


class JobState(StrEnum):
    """State of an attempt's native job, in the manager's view."""

    UNKNOWN = "unknown"  # absent, unreadable or a state we have no word for: never to be taken for done
    QUEUED = "queued"
    RUNNING = "running"  # all of its processes have started
    HELD = "held"
    COMPLETED = "completed"  # every process ended with exit code 0
    FAILED = "failed"  # ended by itself with another code or a signal
    REMOVED = "removed"  # cancelled, by us or by anybody: it does not run and never will
    EVICTED = "evicted"  # its host was lost under it; the manager may or may not try again by itself

    @property
    def final(self) -> bool:
        """True when the job does not run and never will again."""
        return self in (JobState.COMPLETED, JobState.FAILED, JobState.REMOVED)


@dataclass(frozen=True, slots=True)
class JobReport:
    """Report on an attempt's job at one moment; a later report replaces an earlier one.

    Attributes:
        attempt: the UUID.
        state: see `JobState`.
        job: native identifier, for people ("12.0", "4711"); empty where unknown.
        started: when the last of its processes started; None before that.
        finished: when the last of its processes ended; None before that.
        exit_code: the first code that is not 0 in rank order, 128 + n for signal n; None before the end.
        reason: the manager's words for hold, removal, eviction or failure.
        hosts: the hosts that the manager chose, if it names them; empty for a pinned job.
    """

    attempt: str
    state: JobState
    job: str = ""
    started: float | None = None
    finished: float | None = None
    exit_code: int | None = None
    reason: str = ""
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """Part of a process's output.

    Attributes:
        data: the bytes.
        offset: place of the first of them in the output.
        size: size of the whole output up to now, bytes.
    """

    data: bytes
    offset: int
    size: int


class Connector(Protocol):
    """A resource manager as cosched uses it. Methods block.

    Each method is called from one thread at a time.

    A connector class is built with its table of the configuration: `MyConnector(settings: Mapping[str, object])`,
    raises `UserError` where a key is unknown or wrong (named, with what was expected), and makes no connection yet.
    """

    name: str

    def hosts(self) -> Sequence[Host]:
        """Return all hosts of the domain, down ones included as far as they are known.

        Raises:
            ConnectorError: the manager does not answer.
        """
        ...

    def submit(self, launch: Launch) -> str:
        """Hand one attempt to the manager and return the native job's identifier.

        Submitting the same UUID twice never runs it twice. An error does not mean that nothing was submitted:
        the caller asks `find` before it tries again.

        Raises:
            ConnectorError: not accepted, or the answer was lost (`transient`).
            UserError: a value of the launch cannot be carried safely.
        """
        ...

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Return a report for each attempt, state UNKNOWN for those the manager does not show.

        Raises:
            ConnectorError: the manager does not answer.
        """
        ...

    def cancel(self, attempt: str) -> None:
        """Keep the attempt from running, now or later; repeated and unknown UUIDs are fine.

        Raises:
            ConnectorError: the manager does not answer.
        """
        ...

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in queue and history; None if it is in neither.

        Raises:
            ConnectorError: one of the two could not be read: nothing is known.
        """
        ...

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return reports of changes since the last call, waiting up to `timeout` seconds for one.

        May report again what was reported before (after a restart), in order for each attempt.

        Raises:
            ConnectorError: the source of events cannot be read.
        """
        ...

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
        ...

    def close(self) -> None:
        """Release processes and files of this object; jobs go on."""
        ...


@runtime_checkable
class SubmitsMany(Protocol):
    """Connector of a manager that takes many jobs at once.

    It takes them, for example, as a list to queue from or as an array of jobs.
    """

    def submit_many(self, launches: Sequence[Launch]) -> Mapping[str, str | CoschedError]:
        """Hand attempts to the manager together; return each one's native identifier or error.

        Both are by UUID.

        Each of them is afterwards an attempt like any other, found, cancelled and reported on by its own UUID: all
        promises of `Connector.submit` hold for it.
        """
        ...


@runtime_checkable
class CallsBack(Protocol):
    """Connector of a manager that can tell, as it removes a job, whether that has begun."""

    def call_back(self, attempt: str) -> bool:
        """Cancel an attempt as `Connector.cancel` does, unless each of its processes has begun; return whether it did.

        False: nothing was changed, also no fence is left; all of its processes run, or have ended.

        Raises:
            ConnectorError: the manager does not answer: the attempt may be cancelled or not.
        """
        ...


class StartVerdict(StrEnum):
    """Whether a job that has not begun will begin by itself."""

    STARTING = "starting"  # the manager is about it: it has a host, or files are on their way
    WAITING = "waiting"  # nothing is known that keeps it from beginning
    BLOCKED = "blocked"  # the manager names what keeps it: waiting alone does not help


@dataclass(frozen=True, slots=True)
class StartDiagnosis:
    """The manager's answer to why a job has not begun.

    Attributes:
        verdict: see `StartVerdict`.
        reason: the manager's words, one line for people; empty where it names nothing.
    """

    verdict: StartVerdict = StartVerdict.WAITING
    reason: str = ""


@runtime_checkable
class DiagnosesStarts(Protocol):
    """Connector of a manager that says why a job has not begun."""

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Return why an attempt in the queue has not begun. It is asked seldom.

        Raises:
            ConnectorError: the manager does not answer.
        """
        ...


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
    begin: float | None = None
    held: bool = False
    running: bool = False
    ended: bool = False
    report: JobReport | None = None


@runtime_checkable
class AdoptsJobs(Protocol):
    """Connector of a manager whose users' own jobs can wait for cosched.

    Behind a gate each waits for a lease that the manager itself lets lapse. `submit` opens the gate of a launch with
    `adopted`, on its hosts; `cancel` removes the job.

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


class SubmitOutcomes(dict[str, "str | CoschedError"]):
    """Answers by attempt's UUID: the job's identifier, or the error in its place."""

    @contextmanager
    def settle(self, attempts: Iterable[str]) -> Iterator[None]:
        """Record an error raised meanwhile as the outcome of these attempts."""
        try:
            yield
        except CoschedError as error:
            self.update(dict.fromkeys(attempts, error))

    def refused(self, attempt: str) -> bool:
        """Return whether the manager refused the attempt for now, because it has too many jobs."""
        outcome = self.get(attempt)
        return isinstance(outcome, ConnectorError) and outcome.refused

    def doubt_refusals(self, attempts: Iterable[str]) -> None:
        """Make refusals of these attempts transient errors.

        An earlier submission of them may still arrive.
        """
        for attempt in attempts:
            if self.refused(attempt):
                self[attempt] = ConnectorError(str(self[attempt]), transient=True)

    def job(self, attempt: str) -> str:
        """Return an attempt's job.

        Raises:
            CoschedError: it got none.
        """
        outcome = self[attempt]
        if isinstance(outcome, CoschedError):
            raise outcome
        return outcome


def submit_many(connector: Connector, launches: Sequence[Launch]) -> Mapping[str, str | CoschedError]:
    """Hand launches over, together where the connector can; see `SubmitsMany.submit_many`."""
    if isinstance(connector, SubmitsMany):
        return connector.submit_many(launches)
    outcomes = SubmitOutcomes()
    for launch in launches:
        with outcomes.settle([launch.attempt]):
            outcomes[launch.attempt] = connector.submit(launch)
    return outcomes
