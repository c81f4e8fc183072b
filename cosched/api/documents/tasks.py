"""Documents of tasks: their states, attempts and outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.api.documents.elastic import ElasticRequest, RestartsView
from cosched.api.documents.predictions import AlternativeView, ProfileView
from cosched.api.documents.stages import ChainView
from cosched.connector.values import NativeDescription

__all__ = [
    "FINAL_STATES",
    "LIVE_STATES",
    "AttemptView",
    "HandoverView",
    "PlanPoint",
    "RecordView",
    "TaskDetail",
    "TaskPage",
    "TaskView",
]


FINAL_STATES = ("completed", "failed", "cancelled")
"""States that a task does not leave."""


LIVE_STATES = ("queued", "forwarded", "dispatching", "running", "cancelling")
"""All others, in the order of a task's life."""


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
        hosts_range: numbers of hosts that its owner has asked for, "4" or "2-8"; empty where nobody has.
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
    hosts_range: str = ""
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
