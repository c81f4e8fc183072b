"""Documents of elastic tasks: what is asked of them, their workers, and what their leads are told and say."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "ElasticRequest",
    "LeadMessage",
    "OfferView",
    "OverheadReport",
    "PromiseView",
    "RestartsView",
    "StopOrder",
    "WorkerOrder",
    "WorkerView",
    "WorkersView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticRequest:
    """How a task changes its hosts while it runs: by workers that come and go, or by checkpoints and restarts.

    Attributes:
        kind: "workers" or "restart".
        worker: argument vector of each worker, starting with an absolute path; `{lead}` stands for the address that the
            task's command tells, `{worker}` for the worker's number. Empty for a restart.
        grace: seconds (or "2m") from the order to leave until a worker is ended, or within which a program that is
            asked to stop must have checkpointed; null: what the administrator has set.
        cost: seconds (or "2m") that a restart takes beside waiting: writing the checkpoint and reading it; null: as
            measured.
        force: whether a program that has not stopped within the grace is ended, and run again from what it has saved;
            else it is let go on.
    """

    kind: str = "workers"
    worker: tuple[str, ...] = ()
    grace: float | str | None = None
    cost: float | str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartsView:
    """Restarts of an elastic task so far.

    Attributes:
        count: how many times it has stopped to be run again; 0 where it was only asked in vain.
        left: part of all its work that was left at the last one, 0 to 1, as reckoned by the time that it ran.
        reason: for what it was asked to stop last; empty where it stopped unasked.
        unheeded: how many times it was asked and let go on, for it had not stopped within its grace.
        forced: how many times it was ended then.
    """

    count: int
    left: float
    reason: str
    unheeded: int = 0
    forced: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseView:
    """Both ends of an elastic task if it is promised so many hosts, as things are. Times are epoch seconds.

    Attributes:
        hosts: promised, its lead's among them.
        start: when they are there.
        promised_end: its end on these hosts alone; only this one counts for its deadline.
        expected_end: its end with the hosts that the plan leaves idle, which are lent to it; null for a task that
            checkpoints, which is lent none.
        meets_deadline: whether the promised end does; null without a deadline.
        planned: whether this number is planned at present; the search may choose another one.
    """

    hosts: int
    start: float
    promised_end: float
    expected_end: float | None
    meets_deadline: bool | None
    planned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """A worker of an elastic task. Times are epoch seconds.

    Attributes:
        worker: its number; none is given twice in one try of the task.
        host: its host.
        state: of its attempt, or "leaving" for one that was told to.
        promised: whether its host is the task's for as long as it runs; else it is lent.
        since: when it began to run; null before.
        finished: when it ended; null before.
        leave_by: by when it must have left; null for one that stays.
        job: native identifier of its job.
        reason: why it leaves, or how it ended.
    """

    worker: int
    host: str
    state: str
    promised: bool
    since: float | None
    finished: float | None
    leave_by: float | None
    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersView:
    """The lead and the workers of the last try of an elastic task. Times are epoch seconds.

    Attributes:
        host: the lead's.
        lead: address that it has told; empty before that.
        drains: whether it says of each worker that leaves when that may go.
        promised: hosts beside the lead's own that its workers keep.
        promised_end: when it ends at the latest on the promised hosts alone, as predicted; null before it runs.
        expected_end: when it is expected to end with what lent hosts have done so far; null where it does not run.
        workers: first those that live, then those that have ended, the last ones first.
    """

    task: str
    state: str
    host: str
    lead: str
    drains: bool
    promised: tuple[str, ...]
    promised_end: float | None
    expected_end: float | None
    workers: tuple[WorkerView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOrder:
    """Order to one worker.

    Attributes:
        worker: its number.
        host: its host.
        order: join (it is being started), stay or leave.
        by: epoch seconds by which one that leaves is ended; null for others.
        reason: why it leaves.
        cluster: name of the hosts near its own, such as those of a site; empty where nobody says.
    """

    worker: int
    host: str
    order: str
    by: float | None = None
    reason: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOrder:
    """A program is asked to checkpoint and stop.

    Attributes:
        by: epoch seconds by which it must have stopped.
        reason: for what.
    """

    by: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOrder:
    """Order to a program that stays through all stages of a tunable application.

    Attributes:
        task: of the stage.
        order: wait (for hosts, or for the next stage), run (the stage, on its hosts) or end (no other one comes).
        name: of the stage, as its model has it.
        turn: of the loop, from 1; 0 outside loops.
        hosts: how many it has, the lead's among them.
        quality: of the chosen way.
        parameters: of the application, with the control parameters as they are by then.
    """

    task: str
    order: str
    name: str
    turn: int
    hosts: int
    quality: float
    parameters: dict[str, int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferView:
    """Orders to a task and all of its workers, as of a revision; a later one replaces it whole.

    Attributes:
        task: its identifier.
        revision: grows with every change.
        workers: each with its order; none for a task that checkpoints.
        stop: that it is to checkpoint and stop; null where it is to go on.
        cluster: of the lead's own host; empty where nobody says.
        stage: of a tunable application whose program stays through all stages; null for others.
    """

    task: str
    revision: int
    workers: tuple[WorkerOrder, ...]
    stop: StopOrder | None = None
    cluster: str = ""
    stage: StageOrder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheadReport:
    """Parts of a period in which a worker did no work, 0 to 1 and together at most 1.

    Attributes:
        idle: it had nothing to do.
        intra: it communicated within its cluster.
        inter: it communicated with other clusters.
    """

    idle: float = 0.0
    intra: float = 0.0
    inter: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeRequest:
    """A wish for other numbers of hosts of a running elastic task, its lead's among them; it takes the place of others.

    Attributes:
        least: also where its program has told a use for fewer; it is lent these where they are idle.
        most: promised hosts beyond these are given up, but for the fewest on which it can run; null: any number.
    """

    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadMessage:
    """A report of a lead; what it leaves out stays as it was, and what it repeats changes nothing.

    Attributes:
        address: where its workers find it, for `{lead}` in their command.
        drains: whether it will say of each worker that leaves when that may go; else workers are ended at once.
        drained: numbers of workers that leave and may go now: nothing on them will be missed.
        refused: why it would rather keep workers, by their numbers; the order to leave stands.
        fraction: part of all work that is done, 0 to 1.
        done: the same as so many of `total`.
        total: how many there are.
        most: hosts that it has a use for, its own among them; -1: as many as it can get. It keeps the promised ones.
        speeds: how quick each worker is, by its number ("0": on the lead's own host), in any unit above 0. One that is
            slower than half of the middle one for a while leaves, where another host can take its place.
        overheads: how each worker spent its time since the last report, by its number; the rest of it it worked. A
            cluster whose workers communicate with others for more than a quarter of the time leaves as a whole.
        stage_done: task of the stage that a program which stays through all stages is done with.
        resize: what its user wishes for, as `POST /tasks/{id}/resize`: it gives up promised hosts, too.
    """

    address: str | None = None
    drains: bool | None = None
    drained: tuple[int, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    fraction: float | None = None
    done: float | None = None
    total: float | None = None
    most: int | None = None
    speeds: dict[str, float] = field(default_factory=dict)
    overheads: dict[str, OverheadReport] = field(default_factory=dict)
    stage_done: str = ""
    resize: ResizeRequest | None = None
