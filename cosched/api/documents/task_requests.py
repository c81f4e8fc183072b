"""Documents in which tasks are asked for and changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.api.documents.elastic import ElasticRequest
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription

__all__ = ["ShapeFigure", "TaskChange", "TaskRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFigure:
    """Run time of a task in one of its shapes, as its user says.

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
