"""Documents of tasks: requests, predictions, states and explanations."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.api.documents.elastic import ElasticRequest, PromiseView, RestartsView
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription

__all__ = [
    "FINAL_STATES",
    "LIVE_STATES",
    "AlternativeView",
    "AttemptView",
    "Effect",
    "ExplanationView",
    "Forecast",
    "HandoverView",
    "PlanPoint",
    "ProfileView",
    "RecordView",
    "RescueView",
    "ShapeFigure",
    "TaskChange",
    "TaskDetail",
    "TaskPage",
    "TaskRequest",
    "TaskView",
]

FINAL_STATES = ("completed", "failed", "cancelled")
"""States that a task does not leave."""

LIVE_STATES = ("queued", "forwarded", "dispatching", "running", "cancelling")
"""All others, in the order of a task's life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFigure:
    """How long a task takes in one of the shapes in which it may run, as its user says.

    Attributes:
        hosts: how many.
        cores: of each host; where the request has `processes` those of each host in their place.
        seconds: run time.
    """

    hosts: int = 1
    cores: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to be submitted: an application of the catalogue by name, or a command.

    Attributes:
        application: name in the catalogue; empty where `command` is given.
        command: argument vector starting with an absolute path; runs as `launch` says.
        parameters: parameters of the application.
        deadline: seconds since the epoch, ISO 8601 with a zone, or "now+2h30m".
        begin: likewise; it does not start before.
        hosts: how many, as a number or a range "2-8"; limits what the scheduler may choose.
        model: the text of the user's own performance model (PSL), for a command; `parameters` are then the model's.
        profile: the user's own figures: run time in seconds on 1, 2, … hosts, null where that count cannot be used.
        shapes: the user's own figures for several numbers of cores of a host, in place of `profile`.
        name: for people.
        environment: additions to the environment.
        directory: working directory, absolute; empty for one that the connector makes.
        stdin: file that the command reads as its standard input, absolute; empty for none.
        best_effort: accept the task although its deadline cannot be met.
        time_limit: seconds (or "2h") after which the manager may end it.
        notify: addresses to tell of its end, or that it will be late: mailto:… and https://… allowed here.
        after: identifiers of tasks that must complete before it may start; it is cancelled where one does not.
        prepare: argument vector, run before the command where that runs; its failure fails the task.
        native: the job in the words of the domain's manager, as a user's own file has it; `command` is then for people.
        launch: the command runs on `each` host; `once`, on the first; or as `openmpi`, `mpich` or `intel` start it.
        processes_per_host: ranks of a program that is launched once, on each host.
        retries: how many more times it is run where its program fails, that is, ends with a code other than 0.
        requeue: whether it is run again where a host is lost under it.
        priority: orders its owner's own tasks, the higher first.
        array_index: its place in an array; those of one submission that have one are an array, named after the first.
        array_at_most: how many tasks of the array may run at once; 0: all.
        memory: what it needs on each host, "4G" or MiB; 0: what the site has set, as for cores and GPUs.
        cores: that it needs on each host, or a range "8-32" among which cosched chooses.
        processes: ranks on all hosts together of a program that is launched once, as a number or a range "1-256":
            cosched chooses hosts and ranks of each; 0: `processes_per_host` says it.
        gpus: that it needs on each host.
        memory_per_process: what each of the processes on a host needs, in place of `memory`, as for cores and GPUs.
        cores_per_process: that each of them needs.
        gpus_per_process: that each of them needs.
        exclusive: whether it has its hosts for itself where tasks share hosts.
        licences: how many it holds of each of the domain's licences while it runs, by name.
        file_sizes: bytes of the files that it reads, by name: runs teach how its time grows with them.
        program_digest: any digest of its program's files: what runs of another one taught counts less.
        elastic: what its workers are, where it may change its hosts while it runs; `hosts` and its run times then count
            the host of its command as well.
        least_quality: of the way through a tunable application, whose model says how good each is; 0: any.
    """

    application: str = ""
    command: tuple[str, ...] = ()
    parameters: dict[str, float | str] = field(default_factory=dict)
    deadline: float | str | None = None
    begin: float | str | None = None
    hosts: int | str | None = None
    model: str = ""
    profile: tuple[float | None, ...] | None = None
    shapes: tuple[ShapeFigure, ...] = ()
    name: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    directory: str = ""
    stdin: str = ""
    best_effort: bool = False
    time_limit: float | str | None = None
    prepare: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    native: NativeDescription | None = None
    launch: LaunchMode = LaunchMode.EACH
    processes_per_host: int = 1
    retries: int = 0
    requeue: bool = True
    priority: int = 0
    array_index: int | None = None
    array_at_most: int = 0
    memory: int | str = 0
    cores: int | str = 0
    processes: int | str = 0
    gpus: int = 0
    memory_per_process: int | str = 0
    cores_per_process: int = 0
    gpus_per_process: int = 0
    exclusive: bool = False
    licences: dict[str, int] = field(default_factory=dict)
    file_sizes: dict[str, int] = field(default_factory=dict)
    program_digest: str = ""
    elastic: ElasticRequest | None = None
    least_quality: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """Predicted seconds on 1, 2, … hosts with their source; null where impossible.

    Attributes:
        seconds: as expected: half of the runs take longer.
        source: model, user or history (runs like it).
        hardware: the resource model; empty for the user's own figures.
        low: times that one run in twenty stays below; null where no uncertainty is known.
        high: times that one run in twenty exceeds; likewise.
        runs: from how many runs like it the times were learnt, or corrected; 0 for none.
        stated: what model or user said before runs corrected it; null where none did.
        explores: whether it has the one number of hosts that was chosen to learn how long a run takes there.
        changed: number of the first of these runs after all had become slower or faster; 0: they have not.
        classes: the prediction for each class of hosts alone, `hardware` its name; empty where one holds for all.
    """

    seconds: tuple[float | None, ...]
    source: str
    hardware: str
    low: tuple[float | None, ...] | None = None
    high: tuple[float | None, ...] | None = None
    runs: int = 0
    stated: tuple[float | None, ...] | None = None
    explores: bool = False
    changed: int = 0
    classes: tuple[ProfileView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeView:
    """One of the shapes in which a task may run.

    Attributes:
        cores: that it takes of each host.
        memory: MiB of each host; 0: what comes with the cores.
        gpus: of each host.
        processes_per_host: ranks of a program that is launched once.
        profile: predicted seconds on 1, 2, … such hosts; null where a number of hosts is not worth a place in a plan.
    """

    cores: int
    memory: int
    gpus: int
    processes_per_host: int
    profile: ProfileView


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Effect of one more task on the waiting ones.

    Attributes:
        delayed: how many would end later.
        longest: by how much at most, seconds.
        made_late: how many of them would miss a deadline that they meet now.
    """

    delayed: int
    longest: float
    made_late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NearRun:
    """An earlier run like a task.

    Attributes:
        numbers: those of its command and the sizes of its files.
        hosts: how many it had.
        seconds: how long it took.
    """

    numbers: tuple[float, ...]
    hosts: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence for a prediction: earlier runs of the program.

    Attributes:
        nearest: those most like the task, at most three.
        beyond: what of the task lies outside of what ran, in words.
        untried: numbers of hosts that are predicted and that no run had.
    """

    nearest: tuple[NearRun, ...]
    beyond: tuple[str, ...]
    untried: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """A stage in one way through a tunable application; planned where it has not left.

    Attributes:
        hosts: how many it occupies.
        start: seconds since the epoch; null where nothing is planned.
        end: likewise.
    """

    name: str
    hosts: int
    seconds: float
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WayView:
    """A way through a tunable application, as it could be taken at present.

    Attributes:
        way: its number, from 0.
        quality: of what it computes, as its model says.
        control: the control parameters as the way sets them.
        stages: those that have not left.
        end: when the last of them would end, beside what is planned; null where hosts cannot run it now.
        late: seconds by which it would miss a deadline; 0 where it is in time.
        late_stage: the stage that would end later than its model says; empty where none would.
        open: whether it may still be taken: no stage has left in which it differs.
        chosen: whether it is the one that is taken.
    """

    way: int
    quality: float
    control: dict[str, float]
    stages: tuple[StageView, ...]
    end: float | None = None
    late: float = 0.0
    late_stage: str = ""
    open: bool = True
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainView:
    """The tunable application of which a task is a stage.

    Attributes:
        first: identifier of the task of the first stage.
        tasks: identifiers of the tasks of all stages, in order.
        index: this task's place among them, from 0.
        name: of the application's task.
        deadline: that its user asked for, seconds since the epoch; null for none.
        guaranteed: whether no later task makes it miss that, or what its model says.
        quality: of the way that was chosen.
        least_quality: it takes no way of less.
        ways: all that there are, the chosen one, too.
    """

    first: str
    tasks: tuple[str, ...]
    index: int
    name: str
    deadline: float | None
    guaranteed: bool
    quality: float
    least_quality: float
    ways: tuple[WayView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Likely result of a submission at present; nothing was stored.

    Attributes:
        profile: the prediction on the class of its planned hosts, corrected by what earlier runs taught; null for a
            task that passes through.
        planned_start: as the last in the queue, or earlier where its deadline asks for it.
        meets_deadline: null without a deadline or a prediction.
        earliest_deadline: the earliest that could be met if all hosts were free.
        effect: its effect on the tasks that wait already; null where it has no place in the plan.
        offered: it would be late here, and neighbouring domains would be asked whether they end it sooner.
        claim: host-seconds that its deadline would claim of the budgets; 0 where it is not guaranteed, null where
            nothing is claimed.
        more_runs: how many runs like it there must be before one without a prediction has it; 0 for all others.
        evidence: the earlier runs on which the prediction rests; null where it rests on none.
        planned_cores: of a task with several shapes the cores of each host in the one that it would have; 0 for others.
        ways: those through a tunable application, the best first; empty for others.
        promises: both ends of an elastic task for each number of hosts that it may be promised, ascending (for some of
            them where there are many); empty for others.
        same: the newest earlier runs of the same with the same numbers, at most 50, whatever the prediction rests on.
        count: on how many hosts it would be, where these are planned or it has no prediction; 0 for all others.
        memory: MiB that it would take of each host; 0 where nobody says, as for cores and GPUs.
        cores: that it would take of each host.
        gpus: that it would take of each host.
        processes_per_host: that it would start on each host.
        exclusive: whether it would have its hosts for itself.
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
    offered: bool = False
    claim: float | None = None
    more_runs: int = 0
    evidence: Evidence | None = None
    planned_cores: int = 0
    ways: tuple[WayView, ...] = ()
    promises: tuple[PromiseView, ...] = ()
    same: tuple[NearRun, ...] = ()
    count: int = 0
    memory: int = 0
    cores: int = 0
    gpus: int = 0
    processes_per_host: int = 1
    exclusive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One try at running a task.

    Attributes:
        memory: MiB that it takes of each of its hosts where tasks share them, else 0; so are cores and GPUs.
        cores: that it takes of each of its shared hosts.
        gpus: that it takes of each of its shared hosts.
    """

    uuid: str
    state: str
    job: str
    hosts: tuple[str, ...]
    created: float
    started: float | None
    finished: float | None
    exit_code: int | None
    reason: str
    memory: int = 0
    cores: int = 0
    gpus: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """New values for a waiting task; what is left out stays as it is.

    Attributes:
        deadline: seconds since the epoch, ISO 8601 with a zone, "now+2h30m", or "none" to have none any more.
        begin: likewise, a time before which it does not start; "now": at once.
        hosts: how many, as a number or a range "2-8"; the task is predicted anew.
        runtime: the user's own figures in place of a prediction: seconds or "30m" on its number of hosts,
            "4:30m,8:16m", or "1x8:30m,2x16:9m" for hosts with so many cores of each.
        name: for people.
        best_effort: whether the task is kept although its deadline cannot be met.
        priority: orders its owner's own tasks, the higher first.
        memory: what it needs on each host, "4G" or MiB; 0: what the site has set, as for cores and GPUs.
        cores: that it needs on each host, or a range "8-32" among which cosched chooses.
        processes: ranks on all hosts together, likewise, of a program that is launched once.
        gpus: that it needs on each host.
        exclusive: whether it has its hosts for itself where tasks share hosts.
        licences: how many it holds of each of the domain's licences while it runs, by name.
        retries: how many more times it is run where its program fails.
        requeue: whether it is run again where a host is lost under it.
        time_limit: seconds (or "2h") after which the manager may end it, or "none".
        array_at_most: how many tasks of its array may run at once; 0: all.
    """

    deadline: float | str | None = None
    begin: float | str | None = None
    hosts: int | str | None = None
    runtime: float | str | None = None
    name: str | None = None
    best_effort: bool | None = None
    priority: int | None = None
    memory: int | str | None = None
    cores: int | str | None = None
    processes: int | str | None = None
    gpus: int | None = None
    exclusive: bool | None = None
    licences: dict[str, int] | None = None
    retries: int | None = None
    requeue: bool | None = None
    time_limit: float | str | None = None
    array_at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """One line of the log."""

    time: float
    kind: str
    task: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverView:
    """One hand-over of a task to a neighbouring domain, with its reason and outcome."""

    peer: str
    epoch: int
    state: str
    why: str
    created: float
    closed: float | None
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPoint:
    """Planned place of a task, written when the plan changed."""

    time: float
    start: float
    end: float
    hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task.

    Attributes:
        count: number of hosts of the last attempt, or that a task without a model asks for.
        host_cores: how many cores of each host the last attempt had, or the task had asked for where it had the whole;
            0 where it asked for none, before that and in another domain.
        predicted: corrected run time at dispatch.
        actual: measured run time, once completed.
        on_time: whether it ended by its deadline; null before it ended, without a deadline, and unless completed.
        origin: domain that forwarded it to this one; empty for this domain's own tasks.
        peer: domain that has it, or in which it ended; empty: this one.
        notice: a hint for its owner on its acceptance; in the answer to the submission alone.
        stages: identifiers of the tasks of all stages of a tunable application, in order; likewise.
        held_by: user who keeps the waiting task from starting; empty: nobody.
        claim: host-seconds that its deadline claims of a budget; 0: none, it takes turns with tasks without a deadline;
            null without a deadline, and where shares are not in force.
        failures: attempts whose program failed.
        array: identifier of the first task of its array; empty for a task by itself.
        array_index: its place in the array; null for a task by itself.
        array_at_most: how many tasks of the array may run at once; 0: all.
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
    held_by: str = ""
    claim: float | None = None
    failures: int = 0
    array: str = ""
    array_index: int | None = None
    array_at_most: int = 0
    notice: str = ""
    host_cores: int = 0
    stages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail(TaskView):
    """A task with everything that is known of it.

    Attributes:
        model: the text of the performance model (PSL) that its user brought; empty for none.
        profile: the prediction as the model or the user gives it; null where it passes through.
        after: the tasks that must have completed before it may start.
        begin: time before which it does not start.
        stdin: file that its command reads as its standard input; empty for none.
        launch: how its command is launched.
        processes_per_host: ranks of a program that is launched once, on each host.
        retries: how many more times it is run where its program fails.
        requeue: whether it is run again where a host is lost under it.
        priority: orders its owner's own tasks, the higher first.
        memory: MiB that it needs on each host; 0: what the site has set, as for cores and GPUs.
        cores: that it needs on each host.
        gpus: that it needs on each host.
        exclusive: whether it has its hosts for itself where tasks share hosts.
        licences: how many it holds of each of the domain's licences while it runs, by name.
        cores_range: numbers of cores of each host among which cosched chooses; empty for one. `cores` are the fewest
            while it waits, then those that it got.
        processes: numbers of ranks on all hosts together among which cosched chooses; empty where
            `processes_per_host` says it.
        alternatives: the shapes among which cosched chooses; empty for a task with one.
        chain: the tunable application of which it is a stage; null for others. Where its ways would run at present is
            told with the explanation.
        file_sizes: bytes of the files that it reads, by name, as they were at submission.
        program_digest: the digest of its program's files then; empty where nobody looked.
        adopted: the resource manager's key of the job that its owner submitted there; empty for other tasks.
        elastic: how it may change its hosts while it runs; null where it may not.
        restarts: what its restarts have come to; null before the first or before it did not stop when asked.
    """

    command: tuple[str, ...]
    parameters: dict[str, int | float | str]
    environment: dict[str, str]
    directory: str
    prepare: tuple[str, ...]
    notify: tuple[str, ...]
    native: NativeDescription | None
    time_limit: float | None
    profile: ProfileView | None
    tries: tuple[AttemptView, ...]
    log: tuple[RecordView, ...]
    handovers: tuple[HandoverView, ...] = ()
    model: str = ""
    after: tuple[str, ...] = ()
    begin: float | None = None
    stdin: str = ""
    launch: str = "each"
    processes_per_host: int = 1
    retries: int = 0
    requeue: bool = True
    priority: int = 0
    memory: int = 0
    cores: int = 0
    gpus: int = 0
    exclusive: bool = False
    licences: dict[str, int] = field(default_factory=dict)
    cores_range: str = ""
    processes: str = ""
    alternatives: tuple[AlternativeView, ...] = ()
    chain: ChainView | None = None
    file_sizes: dict[str, int] = field(default_factory=dict)
    program_digest: str = ""
    adopted: str = ""
    elastic: ElasticRequest | None = None
    restarts: RestartsView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Part of a list of tasks; `total` counts all that match."""

    tasks: tuple[TaskView, ...]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueView:
    """One thing that would have a task that is planned to be late end sooner, or in time.

    Attributes:
        kind: hold (another task), first (in the queue), hosts (another number of them) or deadline (a later one).
        task: the task to hold; empty for the others.
        name: its name, where both tasks are of one user.
        end: when it would end then; the deadline that would be met.
        saves: whether that is in time.
        made_late: how many other tasks would miss deadlines that they meet now.
        hosts: of hosts: how many; 0 for the others.
    """

    kind: str
    task: str
    name: str
    end: float
    saves: bool
    made_late: int
    hosts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationView:
    """The reasons of a task's state, its planned place, and changes that would help.

    Attributes:
        waits_for: for what a queued task waits; what one does that has left, or how it ended.
        planned_start: when it is to start; of one that runs or has ended, when it did.
        planned_end: likewise of its end.
        profile: its prediction as runs have corrected it by now, on the class of its planned hosts; null where it
            passes through, or has ended.
        end_low: before when a run in twenty ends that starts as planned; null where no uncertainty is known.
        end_high: after when one ends, likewise.
        rescues: what would save one that is planned to be late, the best first.
        planned_cores: of a task with several shapes the cores of each host in the planned one; 0 for others.
        chain: the tunable application of which it is a stage, with where each of its ways would run now; null for
            others.
        errors: the last lines that a task which failed wrote to its standard error, where they can be read.
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
    rescues: tuple[RescueView, ...] = ()
    planned_cores: int = 0
    chain: ChainView | None = None
    errors: tuple[str, ...] = ()
