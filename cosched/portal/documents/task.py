"""A task and its life."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.connector.native import Native  # noqa: TC001  the server reads annotations when it runs
from cosched.portal.documents.submission import ProfileView  # noqa: TC001  likewise

__all__ = [
    "AttemptView",
    "Explanation",
    "HandoverView",
    "PlanPoint",
    "RecordView",
    "TaskDetail",
    "TaskPage",
    "TaskView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One try at running a task."""

    uuid: str
    state: str
    job: str
    hosts: tuple[str, ...]
    created: float
    started: float | None
    finished: float | None
    exit_code: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """One line of the log."""

    time: float
    kind: str
    task: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverView:
    """One time that a task was handed to a neighbouring domain: why there, and how that ended."""

    peer: str
    epoch: int
    state: str
    why: str
    created: float
    closed: float | None
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPoint:
    """Where a task was planned at one time, because the plan had changed."""

    time: float
    start: float
    end: float
    hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task.

    Attributes:
        count: number of hosts of the last attempt, or that a task without a model asks for.
        predicted: corrected run time at dispatch.
        actual: measured run time, once completed.
        on_time: whether it ended by its deadline; null before it ended, without a deadline, and unless completed.
        origin: domain that forwarded it to this one; empty for this domain's own tasks.
        peer: domain that has it, or in which it ended; empty: this one.
        notice: what its owner had better know of its acceptance; in the answer to the submission alone.
    """

    id: str
    name: str
    application: str
    state: str
    reason: str
    owner: str
    submitted: float
    deadline: float | None
    best_effort: bool
    hosts: tuple[str, ...]
    count: int
    predicted: float | None
    actual: float | None
    dispatched: float | None
    started: float | None
    finished: float | None
    exit_code: int | None
    attempts: int
    on_time: bool | None
    origin: str = ""
    peer: str = ""
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail(TaskView):
    """A task with everything that is known of it.

    Attributes:
        model: the text of the performance model (PSL) that its user brought; empty for none.
        profile: the prediction as the model or the user gives it; null where it passes through.
        after: the tasks that must have completed before it may start.
    """

    command: tuple[str, ...]
    parameters: dict[str, float | str]
    environment: dict[str, str]
    directory: str
    prepare: tuple[str, ...]
    notify: tuple[str, ...]
    native: Native | None
    time_limit: float | None
    profile: ProfileView | None
    tries: tuple[AttemptView, ...]
    log: tuple[RecordView, ...]
    handovers: tuple[HandoverView, ...] = ()
    model: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Part of the list of tasks, newest first; `total` counts all that match."""

    tasks: tuple[TaskView, ...]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task is where it is: what it waits for, its planned place, and what would change it.

    Attributes:
        profile: its prediction as runs have corrected it by now; null where it passes through, or has ended.
        end_low: before when a run in twenty ends that starts as planned; null where no uncertainty is known.
        end_high: after when one ends, likewise.
    """

    task: str
    state: str
    waits_for: tuple[str, ...]
    planned_start: float | None
    planned_end: float | None
    planned_hosts: tuple[str, ...]
    slack: float | None
    would_change: tuple[str, ...]
    profile: ProfileView | None = None
    end_low: float | None = None
    end_high: float | None = None
