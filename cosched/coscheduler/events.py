"""Events tell the core what happened to its domain.

Every event carries its time; the core never reads a clock. Start at `Event`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.hosts import Host
    from cosched.connector.interface import StartDiagnosis
    from cosched.connector.jobs import JobReport
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.edits import TaskEdit
    from cosched.coscheduler.elastic.values import WorkerOverhead
    from cosched.coscheduler.handovers import Guest, Handover
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.sharing.shares import Shares, UserUsage
    from cosched.coscheduler.task import Task, TaskState
    from cosched.prediction.loads.host_load import HostLoad

__all__ = [
    "AdoptedJobGone",
    "AdoptedJobStarted",
    "AttemptAbsent",
    "AttemptBegun",
    "AttemptDiagnosed",
    "AttemptMissing",
    "AttemptSubmitted",
    "CancelRequested",
    "EditRequested",
    "Event",
    "HoldRequested",
    "HostsObserved",
    "HostsReserved",
    "HostsWished",
    "JobReported",
    "LeadAnnounced",
    "LeadEvent",
    "ManagerEvent",
    "NeighboursChanged",
    "OfferEnded",
    "OverheadsMeasured",
    "PeerReported",
    "PredictionPassed",
    "ReleaseRequested",
    "ReservationReleased",
    "Restored",
    "SavedState",
    "ScheduleImproved",
    "SearchAwaited",
    "SharesChanged",
    "SpeedsMeasured",
    "StageDone",
    "StartPermitted",
    "SubmitFailed",
    "TaskForwarded",
    "TaskReturned",
    "TaskSubmitted",
    "Tick",
    "WorkReported",
    "WorkerDrained",
    "WorkerRefused",
]


@dataclass(frozen=True, slots=True)
class TaskSubmitted:
    """A task was accepted (state QUEUED, prediction done)."""

    time: float
    task: Task


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A user has cancelled a task."""

    time: float
    task: str
    reason: str = "cancelled by the user"


@dataclass(frozen=True, slots=True)
class EditRequested:
    """A user wants a waiting task to have other values.

    A task that has left the queue stays as it is.

    Attributes:
        by: name of the user.
    """

    time: float
    task: str
    edit: TaskEdit
    by: str


@dataclass(frozen=True, slots=True)
class HoldRequested:
    """Somebody wants a waiting task to stay, neither planned nor dispatched, until it is released.

    Attributes:
        by: name of the user.
    """

    time: float
    task: str
    by: str


@dataclass(frozen=True, slots=True)
class ReleaseRequested:
    """Somebody wants a held task to be planned again.

    Attributes:
        by: name of the user.
    """

    time: float
    task: str
    by: str


@dataclass(frozen=True, slots=True)
class AdoptedJobGone:
    """The user's own job of a waiting task is no longer in the manager's queue."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class AdoptedJobStarted:
    """The user's own job of a waiting task runs without cosched's doing."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class HostsObserved:
    """The connector's list of hosts, whole; a host that is missing from it is down.

    Attributes:
        loads: what the owners of hosts are expected to take of them; without those of dedicated hosts.
    """

    time: float
    hosts: tuple[Host, ...]
    loads: Mapping[str, HostLoad] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostsReserved:
    """Hosts are to be kept for others for a while."""

    time: float
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class ReservationReleased:
    """A reservation is given up; one that is not known is over already."""

    time: float
    reservation: str


@dataclass(frozen=True, slots=True)
class SharesChanged:
    """The administrator has divided the domain between groups and users.

    Attributes:
        shares: the whole tree; None: shares are not in force.
    """

    time: float
    shares: Shares | None


@dataclass(frozen=True, slots=True)
class ScheduleImproved:
    """The search found a better plan.

    Attributes:
        plan: tasks that no longer wait are ignored, those missing are kept behind.
        since: time of the snapshot that was planned, epoch seconds; bound and makespan count from here.
        bound: lower bound of the makespan in seconds.
        makespan: predicted makespan in seconds.
        evaluations: how many schedules the search has looked at for this snapshot.
        generations: how many generations that took.
        searched: seconds that the search has worked for this snapshot.
        settled: False for a first answer that the search has not worked on: no reason yet to end a task's staging.
    """

    time: float
    plan: TaskPlan
    since: float = 0.0
    bound: float = 0.0
    makespan: float = 0.0
    evaluations: int = 0
    generations: int = 0
    searched: float = 0.0
    settled: bool = True

    @property
    def gap(self) -> float | None:
        """(makespan - bound) / bound, 0 where rounding puts the one below the other; None without a bound."""
        return max(self.makespan / self.bound - 1, 0.0) if self.bound > 0 else None


@dataclass(frozen=True, slots=True)
class SearchAwaited:
    """The search starts, for the first time or after it ended by itself; its next settled answer ends that.

    Nothing leaves by this.
    """

    time: float


@dataclass(frozen=True, slots=True)
class AttemptSubmitted:
    """The manager accepted an attempt."""

    time: float
    attempt: str
    job: str


@dataclass(frozen=True, slots=True)
class SubmitFailed:
    """A submit ended in an error; `message` says which.

    With `transient` and without `refused`, the manager may have the job all the same.
    """

    time: float
    attempt: str
    message: str
    transient: bool
    refused: bool = False


@dataclass(frozen=True, slots=True)
class JobReported:
    """The manager said something of an attempt's job (event, status or find).

    Attributes:
        more: whether another report or a tick follows at once: nothing leaves by this one, but by the last of them.
    """

    time: float
    report: JobReport
    more: bool = False


@dataclass(frozen=True, slots=True)
class AttemptMissing:
    """Neither queue nor history has known the attempt for the grace period.

    A submit may still be on its way.
    """

    time: float
    attempt: str


@dataclass(frozen=True, slots=True)
class AttemptAbsent:
    """Neither queue nor history knew the attempt after the grace, and it has been fenced."""

    time: float
    attempt: str


@dataclass(frozen=True, slots=True)
class AttemptBegun:
    """An attempt that was to be called back has begun, or ended: the manager goes on with it."""

    time: float
    attempt: str


@dataclass(frozen=True, slots=True)
class PredictionPassed:
    """An attempt runs for longer than predicted; its hosts are reckoned with for so many seconds in all from now on."""

    time: float
    attempt: str
    seconds: float


@dataclass(frozen=True, slots=True)
class AttemptDiagnosed:
    """The manager said why an attempt in its queue has not begun."""

    time: float
    attempt: str
    diagnosis: StartDiagnosis


@dataclass(frozen=True, slots=True)
class LeadAnnounced:
    """The lead of an elastic task has told where its workers find it.

    Attributes:
        attempt: UUID of the lead's attempt, as in the other events of leads: word of an earlier one is ignored.
        drains: whether it will say of each worker that leaves when that may go.
    """

    time: float
    attempt: str
    address: str
    drains: bool = False


@dataclass(frozen=True, slots=True)
class WorkerDrained:
    """A lead says that a worker which leaves may go: nothing on it will be missed."""

    time: float
    attempt: str
    worker: int


@dataclass(frozen=True, slots=True)
class WorkerRefused:
    """A lead says why it would rather keep a worker; the order to leave stands."""

    time: float
    attempt: str
    worker: int
    reason: str


@dataclass(frozen=True, slots=True)
class HostsWished:
    """A lead says for how many hosts it has a use, its own among them; None: for as many as it can get."""

    time: float
    attempt: str
    most: int | None


@dataclass(frozen=True, slots=True)
class WorkReported:
    """A lead says which part of its work is done, above 0 and at most 1."""

    time: float
    attempt: str
    fraction: float


@dataclass(frozen=True, slots=True)
class SpeedsMeasured:
    """A lead says how quick its workers are.

    Attributes:
        speeds: number of each worker, 0 for the one on the lead's own host, and its speed, above 0; only ratios count.
    """

    time: float
    attempt: str
    speeds: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class OverheadsMeasured:
    """A lead says how its workers spent their time in a period; the rest of it they worked.

    Attributes:
        overheads: of each worker, the one on the lead's own host among them.
    """

    time: float
    attempt: str
    overheads: tuple[WorkerOverhead, ...]


@dataclass(frozen=True, slots=True)
class StageDone:
    """The lead of a whole chain is done with a stage, and asks for the next one.

    Attributes:
        stage: the task of the stage: said again of one that is over, it changes nothing.
    """

    time: float
    attempt: str
    stage: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time went by."""

    time: float


@dataclass(frozen=True, slots=True)
class TaskForwarded:
    """A waiting task is handed to another domain; from now on it cannot start here.

    Attributes:
        peer: the domain.
        reason: why there, one line.
    """

    time: float
    task: str
    peer: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskReturned:
    """A forwarded task is ours again; it has not started anywhere and never will there."""

    time: float
    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class PeerReported:
    """A forwarded task's state in its domain; times are of our clock, epoch seconds.

    Attributes:
        where: the domain, which may be beyond the one that it was handed to; empty if unknown.
    """

    time: float
    task: str
    state: TaskState
    reason: str = ""
    hosts: tuple[str, ...] = ()
    started: float | None = None
    finished: float | None = None
    actual: float | None = None
    exit_code: int | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class OfferEnded:
    """No domain has taken an offered task: it may leave here."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class StartPermitted:
    """The origin of a task that was forwarded to us lets it start."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class NeighboursChanged:
    """Neighbours that could take a task have come or gone; no task leaves by this.

    Attributes:
        available: whether there are any.
        offer_on_time: whether they are asked also for tasks of ours that would be in time here.
    """

    time: float
    available: bool
    offer_on_time: bool = False


@dataclass(frozen=True, slots=True)
class SavedState:
    """Records of a former process, as its database kept them.

    Attributes:
        tasks: all tasks that have not ended.
        attempts: their live attempts.
        completed: tasks that ended well, oldest first: their run times taught corrections.
        reservations: all reservations that have not ended.
        handovers: all hand-overs of live tasks, ended ones too.
        guests: unsettled ones.
        ended: tasks of guests that have ended, by identifier.
        last_number: the highest that a task was ever given.
        plan: in force before a mistake of cosched; None after a restart.
        life: number of the agent's life that begins now; 0 for the one that it was made with.
        forgotten: tasks up to this number may have attempts, and cancels of these, that the database has forgotten.
        usage: hosts that users have had and claim.
    """

    tasks: tuple[Task, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    completed: tuple[Task, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    handovers: tuple[Handover, ...] = ()
    guests: tuple[Guest, ...] = ()
    ended: Mapping[str, Task] = field(default_factory=dict)
    last_number: int = 0
    plan: TaskPlan | None = None
    life: int = 0
    forgotten: int = 0
    usage: tuple[UserUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class Restored:
    """Core and agent forget their state and load the stored one.

    It happens at a start, and after an internal error.

    Nothing leaves by this alone.
    """

    time: float
    state: SavedState


ManagerEvent = (
    AttemptSubmitted
    | SubmitFailed
    | JobReported
    | AttemptMissing
    | AttemptAbsent
    | AttemptBegun
    | AttemptDiagnosed
    | PredictionPassed
)
"""News of an attempt."""

LeadEvent = (
    LeadAnnounced
    | HostsWished
    | WorkerDrained
    | WorkerRefused
    | WorkReported
    | SpeedsMeasured
    | OverheadsMeasured
    | StageDone
)
"""The word of an elastic task's lead."""

Event = (
    Restored
    | TaskSubmitted
    | CancelRequested
    | EditRequested
    | HoldRequested
    | ReleaseRequested
    | AdoptedJobGone
    | AdoptedJobStarted
    | HostsObserved
    | HostsReserved
    | ReservationReleased
    | SharesChanged
    | ScheduleImproved
    | SearchAwaited
    | ManagerEvent
    | LeadEvent
    | TaskForwarded
    | TaskReturned
    | PeerReported
    | StartPermitted
    | OfferEnded
    | NeighboursChanged
    | Tick
)
