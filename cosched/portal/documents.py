"""What the API takes and gives, under the same names as everywhere else.

Times are seconds since the epoch, durations seconds. Plain dataclasses: the server checks and prints them, the client
reads them, and importing them costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.connector.native import Native  # noqa: TC001  the server reads annotations when it runs

__all__ = [
    "AccountChange",
    "AccountRequest",
    "AccountView",
    "Accuracy",
    "AttemptView",
    "DeedView",
    "Effect",
    "Explanation",
    "Forecast",
    "HandoverView",
    "HostView",
    "LoginLink",
    "Me",
    "NewToken",
    "PeerView",
    "Placement",
    "PlanPoint",
    "PlanView",
    "ProfileView",
    "RecordView",
    "RunView",
    "SearchPoint",
    "Status",
    "TaskDetail",
    "TaskPage",
    "TaskRequest",
    "TaskView",
    "TokenRequest",
    "TokenView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to be submitted: an application of the catalogue by name, or a command.

    Attributes:
        application: name in the catalogue; empty where `command` is given.
        command: argument vector starting with an absolute path; runs once on each host.
        parameters: of the application.
        deadline: seconds since the epoch, ISO 8601 with a zone, or "now+2h30m".
        hosts: how many, as a number or a range "2-8"; limits what the scheduler may choose.
        model: the text of the user's own performance model (PSL), for a command; `parameters` are then the model's.
        profile: the user's own figures: run time in seconds on 1, 2, … hosts, null where that count cannot be used.
        name: for people.
        environment: additions to the environment.
        directory: working directory, absolute; empty for one that the connector makes.
        best_effort: accept the task although its deadline cannot be met.
        time_limit: seconds (or "2h") after which the manager may end it.
        notify: whom to tell of its end, or that it will be late: mailto:… and https://… addresses allowed here.
        prepare: argument vector, run on each host before the command; its failure fails the task.
        native: the job in the words of the domain's manager, as a user's own file has it; `command` is then for people.
    """

    application: str = ""
    command: tuple[str, ...] = ()
    parameters: dict[str, float | str] = field(default_factory=dict)
    deadline: float | str | None = None
    hosts: int | str | None = None
    model: str = ""
    profile: tuple[float | None, ...] | None = None
    name: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    directory: str = ""
    best_effort: bool = False
    time_limit: float | str | None = None
    prepare: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    native: Native | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """Predicted run time in seconds on 1, 2, … hosts, null where that count cannot be used, and who predicted.

    Attributes:
        seconds: as expected: half of the runs take longer.
        source: model or user.
        hardware: the resource model; empty for the user's own figures.
        low: what a run in twenty undercuts; null where no uncertainty is known.
        high: what a run in twenty exceeds; likewise.
    """

    seconds: tuple[float | None, ...]
    source: str
    hardware: str
    low: tuple[float | None, ...] | None = None
    high: tuple[float | None, ...] | None = None


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
class TaskView:
    """A task.

    Attributes:
        count: number of hosts of the last attempt, or that a task without a model asks for.
        predicted: corrected run time at dispatch.
        actual: measured run time, once completed.
        on_time: whether it ended by its deadline; null before it ended, without a deadline, and unless completed.
        origin: domain that forwarded it to this one; empty for this domain's own tasks.
        peer: domain that has it, or in which it ended; empty: this one.
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
class PeerView:
    """A neighbouring domain.

    Attributes:
        role: "neighbour", "upper" or "lower".
        paused: nothing new is exchanged with it.
        heard: when it was heard of last; null: not since the daemon started.
        hosts: how many it advertises, and how many of them are `free` now by what it said.
        hardware: resource models of its hosts.
        given: our tasks that it has.
        taken: its tasks that we have.
        fault: why it cannot be reached; empty while it can.
    """

    name: str
    address: str
    role: str
    paused: bool
    heard: float | None
    hosts: int
    free: int
    hardware: tuple[str, ...]
    given: int
    taken: int
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail(TaskView):
    """A task with everything that is known of it; `profile` is null where it passes through."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Part of the list of tasks, newest first; `total` counts all that match."""

    tasks: tuple[TaskView, ...]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task is where it is: what it waits for, its planned place, and what would change it."""

    task: str
    state: str
    waits_for: tuple[str, ...]
    planned_start: float | None
    planned_end: float | None
    planned_hosts: tuple[str, ...]
    slack: float | None
    would_change: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one more task would do to those that wait already.

    Attributes:
        delayed: how many would end later.
        longest: by how much at most, seconds.
        made_late: how many of them would miss a deadline that they meet now.
    """

    delayed: int
    longest: float
    made_late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a submission would lead to as things stand; nothing was stored.

    Attributes:
        profile: the prediction, corrected by what earlier runs taught; null for a task that passes through.
        planned_start: as the last in the queue, or earlier where its deadline asks for it.
        meets_deadline: null without a deadline or a prediction.
        earliest_deadline: the earliest that could be met if all hosts were free.
        effect: what it would do to the tasks that wait already; null where it has no place in the plan.
    """

    application: str
    name: str
    profile: ProfileView | None
    planned_start: float | None
    planned_end: float | None
    planned_hosts: tuple[str, ...]
    deadline: float | None
    meets_deadline: bool | None
    earliest_deadline: float | None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """A host; `task` and `free_at` say what occupies it and until when that is expected.

    Another user's task has no name here: what is not free has `free_at`.
    """

    name: str
    host_class: str
    up: bool
    reason: str
    task: str
    free_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A task's place in the plan; `running` where it is there already. Another user's task has no name and deadline."""

    task: str
    name: str = ""
    application: str = ""
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """The schedule in force.

    Attributes:
        makespan: seconds from `time` to the end of the last task that runs or waits.
        bound: no schedule of the waiting tasks is shorter, seconds from `time`; null before the search has said it.
        gap: (planned makespan of the waiting tasks - bound) / bound; null likewise.
        evaluations: schedules the search has looked at for this queue.
        rate: generations of the search in each second that it worked on this queue; null before it has begun.
    """

    time: float
    placements: tuple[Placement, ...]
    makespan: float
    bound: float | None
    gap: float | None
    evaluations: int
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One attempt that has ended, on its hosts. Another user's task has no name and deadline."""

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPoint:
    """Where a task was planned at one time, because the plan had changed."""

    time: float
    start: float
    end: float
    hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPoint:
    """How good the search's plan was at one time: planned end of all waiting tasks, and the gap to the bound."""

    time: float
    end: float
    gap: float | None
    evaluations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How well an application's run times were predicted on a class of hosts.

    Attributes:
        ratios: measured / predicted as it was at dispatch, the newest run last.
        factor: what the model's own figures are multiplied by now.
        runs: how many runs that was learned from.
    """

    application: str
    hardware: str
    ratios: tuple[float, ...]
    factor: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The daemon in short: `faults` says in sentences what does not work; empty: all is well.

    `tasks` counts those that the asker may see, `calls` how often the manager was asked since the daemon began.
    """

    domain: str
    version: str
    time: float
    connector: str
    policy: str
    hosts_up: int
    hosts_down: int
    tasks: dict[str, int]
    faults: tuple[str, ...]
    calls: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who asks: role, what the credential may be used for, and how it was proved."""

    name: str
    role: str
    scopes: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A token to be given out.

    Attributes:
        user: whose; empty: of the one who asks.
        role: the most it may do; empty: as who asks, for other users "user".
        scopes: what it may be used for: read, submit, manage, metrics.
        lifetime: seconds.
        note: for people: where it is used.
    """

    user: str = ""
    role: str = ""
    scopes: tuple[str, ...] = ("read", "submit")
    lifetime: float = 30 * 86400.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    """A token that was given out; `id` is no secret."""

    id: str
    user: str
    role: str
    scopes: tuple[str, ...]
    note: str
    created: float
    expires: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken(TokenView):
    """A token as it is given out; `token` is the secret and is never shown again."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRequest:
    """A local account to be made."""

    name: str
    password: str
    role: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChange:
    """What is to be changed of an account; null stays as it is."""

    password: str | None = None
    role: str | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """A local account."""

    name: str
    role: str
    created: float
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeedView:
    """One line of the audit log: who did what, how they proved who they are, and from where."""

    time: float
    user: str
    how: str
    address: str
    action: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLink:
    """An address that logs a browser in, once and soon."""

    url: str
