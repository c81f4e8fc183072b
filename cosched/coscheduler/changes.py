"""An outcome answers one event: changes are written first, then decisions are carried out.

`Store.commit` writes the changes. Start at `Outcome`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.handovers import Guest, Handover
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.sharing.shares import UserUsage
    from cosched.coscheduler.task import Task

__all__ = [
    "AskPeers",
    "AskStart",
    "CancelAttempt",
    "Changes",
    "Decision",
    "DiagnoseAttempt",
    "DispatchAttempt",
    "KeyedSubmission",
    "LocateAttempt",
    "LogEntry",
    "Outcome",
    "Replan",
    "RunRecord",
]

_Key = TypeVar("_Key")
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the log.

    Attributes:
        time: seconds since the epoch.
        kind: the event's name in words ("submit failed").
        task: identifier of the task it concerns; empty where it concerns the domain.
        detail: one line for people.
    """

    time: float
    kind: str
    task: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class KeyedSubmission:
    """The tasks that an idempotency key stands for.

    Attributes:
        key: chosen by the client, unique for its owner.
        digest: digest of the request's content; another content under the same key is a mistake.
        tasks: identifiers of the tasks that the first request made, in its order.
        created: when, seconds since the epoch.
    """

    key: str
    digest: str
    tasks: tuple[str, ...]
    created: float
    owner: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run that completed, kept longer than its task.

    Attributes:
        key: the same for runs that are alike, see `cosched.prediction.run_features`.
        numbers: by which runs of one key differ.
        owner: whose task it was.
        application: its name, for people.
        hosts: how many it had.
        hardware: class of its hosts, empty where the manager names none.
        predicted: seconds that were predicted for it, None without a prediction.
        seconds: run time.
        finished: when it ended, seconds since the epoch.
        program_digest: see `TaskSpec`.
        stated: seconds that its model or its user foretold, before runs corrected them; None where neither did.
        low: seconds that one run in twenty was expected to stay below; None without a prediction, or without a range.
        high: those that one in twenty was expected to exceed, likewise.
        launch: how its program was launched, where a model had foretold it; empty for others.
    """

    task: str
    key: str
    numbers: tuple[float, ...]
    owner: str
    application: str
    hosts: int
    hardware: str
    predicted: float | None
    seconds: float
    finished: float
    program_digest: str = ""
    stated: float | None = None
    low: float | None = None
    high: float | None = None
    launch: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that one event or several changed, of every kind of record.

    `first | second` joins two: of two values for one record the second's counts; lines of the log are appended.
    The order of each mapping is the order in which its records first changed.

    Attributes:
        tasks: by identifier.
        attempts: by UUID.
        reservations: by identifier.
        handovers: by the task's UUID and the epoch.
        guests: by neighbour and the task's UUID.
        log: lines to append.
        submissions: idempotency keys to add.
        usage: by user.
        runs: completed runs to add, which later predictions learn from.
    """

    tasks: Mapping[str, Task] = field(default_factory=dict)
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    handovers: Mapping[tuple[str, int], Handover] = field(default_factory=dict)
    guests: Mapping[tuple[str, str], Guest] = field(default_factory=dict)
    log: tuple[LogEntry, ...] = ()
    submissions: tuple[KeyedSubmission, ...] = ()
    usage: Mapping[str, UserUsage] = field(default_factory=dict)
    runs: tuple[RunRecord, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to write down."""
        records = self.tasks or self.attempts or self.reservations or self.handovers or self.guests
        return bool(records or self.log or self.submissions or self.usage or self.runs)

    def __or__(self, later: Changes) -> Changes:
        """Return these changes with later ones over them."""
        if not (self and later):  # four of five times
            return self or later
        return Changes.joined((self, later))

    @classmethod
    def joined(cls, changes: Iterable[Changes]) -> Changes:
        """Join changes in their order.

        It takes time proportional to all of them together, as one submission may be thousands of changes.
        """
        parts = [part for part in changes if part]
        if len(parts) == 1:
            return parts[0]
        return cls(
            _merged(part.tasks for part in parts),
            _merged(part.attempts for part in parts),
            _merged(part.reservations for part in parts),
            _merged(part.handovers for part in parts),
            _merged(part.guests for part in parts),
            tuple(chain.from_iterable(part.log for part in parts)),
            tuple(chain.from_iterable(part.submissions for part in parts)),
            _merged(part.usage for part in parts),
            tuple(chain.from_iterable(part.runs for part in parts)),
        )


def _merged(records: Iterable[Mapping[_Key, _Record]]) -> Mapping[_Key, _Record]:
    merged: dict[_Key, _Record] = {}
    for part in records:
        merged.update(part)
    return merged


class Decision:
    """Something to be done once the changes are written down."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DispatchAttempt(Decision):
    """Submit this attempt now. Pinned to its hosts, or passed through where it names none."""

    attempt: Attempt
    task: Task


@dataclass(frozen=True, slots=True)
class CancelAttempt(Decision):
    """Tell the manager that this attempt must not run, now or later.

    Attributes:
        adopted: key of the user's own job whose gate is to be closed; empty where the job is to be removed.
        unless_begun: where it has begun it runs on, and the answer is AttemptBegun.
    """

    attempt: str
    adopted: str = ""
    unless_begun: bool = False


@dataclass(frozen=True, slots=True)
class LocateAttempt(Decision):
    """Find out whether the manager has this attempt.

    The answer is JobReported; after a grace without any trace of it AttemptMissing, or AttemptAbsent where the attempt
    may be fenced and has been.

    Attributes:
        fence: whether it is recorded that this attempt must not run.
    """

    attempt: str
    fence: bool = False


@dataclass(frozen=True, slots=True)
class DiagnoseAttempt(Decision):
    """Ask the manager why it has not started this attempt.

    The answer is AttemptDiagnosed, or JobReported where it has begun or ended meanwhile.
    """

    attempt: str


@dataclass(frozen=True, slots=True)
class Replan(Decision):
    """Give the search a new snapshot: what waits, what runs or the hosts have changed."""


@dataclass(frozen=True, slots=True)
class AskStart(Decision):
    """Ask a task's origin to permit its start; repeated, ever more rarely, until it does."""

    task: str


@dataclass(frozen=True, slots=True)
class AskPeers(Decision):
    """Ask the neighbours once, for a short time, to take a task.

    The task could leave now, but would miss its deadline here.

    Attributes:
        task: its identifier.
        end: when it would end here, epoch seconds.
    """

    task: str
    end: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to an event: changes to write together, then decisions in their order.

    `first | second` joins the outcomes of two events, in this order.

    Attributes:
        events: the events that the core handled: the first one, and those that an agent added.
    """

    changes: Changes = field(default_factory=Changes)
    decisions: tuple[Decision, ...] = ()
    events: tuple[Event, ...] = ()

    def __or__(self, later: Outcome) -> Outcome:
        """Return both outcomes as one."""
        return Outcome.joined((self, later))

    @classmethod
    def joined(cls, outcomes: Iterable[Outcome]) -> Outcome:
        """Join outcomes in their order; see `Changes.joined`."""
        parts = tuple(outcomes)
        return cls(
            Changes.joined(part.changes for part in parts),
            tuple(chain.from_iterable(part.decisions for part in parts)),
            tuple(chain.from_iterable(part.events for part in parts)),
        )
