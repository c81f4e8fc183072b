"""Values that a connector is given and that it returns: a launch, reports, output.

All times are seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.values import NativeDescription

__all__ = ["JobReport", "JobState", "Launch", "LaunchMode", "Output"]


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
    not known), COSCHED_CORES and COSCHED_PROCESSES_PER_HOST (where they are said) and COSCHED_PARAMETER_<name>.

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
        adopted: key of the job to let go, which its user submitted (`Connector.adoption`); empty for others.
        mailbox: whether a connector with `mail` makes a mailbox for it, which COSCHED_MAILBOX names.
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
    mailbox: bool = False


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
