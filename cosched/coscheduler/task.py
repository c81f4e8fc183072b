"""Tasks, as the core knows them.

Start at `Task`, its `TaskSpec` and `TaskStatus`; all values are frozen, and a change makes a new one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypedDict, Unpack

from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.places.alternatives import alternative_on, quickest_profile
from cosched.prediction.run_features import command_features

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.connector.hosts import Host
    from cosched.connector.values import NativeDescription
    from cosched.coscheduler.elastic.values import Elastic, RestartRecord
    from cosched.coscheduler.places.alternatives import Alternative
    from cosched.coscheduler.stages.stage import StageInChain
    from cosched.prediction.profile import Profile
    from cosched.prediction.run_features import RunFeatures

__all__ = ["Task", "TaskSpec", "TaskState", "TaskStatus"]


class TaskState(StrEnum):
    """State of a task in its life."""

    QUEUED = "queued"  # admitted; waits for its hosts
    FORWARDED = "forwarded"  # with another domain, or on its way there
    DISPATCHING = "dispatching"  # an attempt is with the manager, not all of its processes run yet
    RUNNING = "running"
    CANCELLING = "cancelling"  # must not run (any more); waiting for the manager's word
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """True when nothing more will happen to the task."""
        return self in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The request of a task, with defaults filled in; only edits (`edits.py`) change it.

    Attributes:
        application: name of the catalogue entry or of the command.
        command: argument vector, run on each host or on the first, as `launch` says.
        deadline: epoch seconds.
        begin: epoch seconds before which it may not start; None: at once.
        count: number of hosts of a task without a profile (ignored where there is one).
        stdin: file that the command reads as its standard input, absolute; empty for none.
        prepare: argument vector run before the command, where that runs; empty for none.
        native: the job in its manager's own words, where the user brought a file; its command is for people then.
        model: text of the user's own performance model (PSL); empty where there is none.
        after: tasks that must have completed before it may leave; they were accepted before it.
        best_effort: accepted although its deadline may not be met.
        time_limit: seconds.
        notify: addresses to tell of its end, or that it will be late: mailto:… and https://….
        processes_per_host: ranks of a parallel program on each host.
        retries: how many more times it is run where its program fails.
        requeue: whether it is run again where a host is lost under it.
        priority: orders the tasks of its owner, the higher first.
        array: identifier of the first task of its array; empty for a task by itself.
        array_index: its place in the array; None for a task by itself.
        array_at_most: how many tasks of its array may run at once; 0: all.
        memory: MiB that it needs on each host; 0: as the connector's settings say, as for cores and GPUs.
        cores: that it needs on each host; of a task with `Task.alternatives` that waits the fewest, and those of the
            one chosen once it leaves, as for memory, GPUs and processes.
        gpus: that it needs on each host.
        exclusive: whether it has its hosts for itself in a domain that shares them.
        licences: how many it holds of each of the domain's licences while it runs, on however many hosts.
        hosts_range: numbers of hosts that its user has asked for, "4" or "2-8"; empty where nobody has, or figures say
            them. `count` is what it has without a prediction.
        cores_range: numbers of cores of each host among which cosched chooses, "8-32"; empty for one number.
        processes: numbers of ranks on all its hosts together among which cosched chooses, "1-256"; empty where
            `processes_per_host` says it.
        file_sizes: bytes of the files that it reads, by name, as they were at submission.
        program_digest: the digest of its program's files then; empty where nobody looked.
        adopted: the manager's key of the job that its user submitted there; empty for tasks submitted to cosched.
        elastic: what its workers are, where it may change its hosts while it runs; None: it may not.
        partition: the manager's partition in which it is to run, as its user's own file says; empty for any.
    """

    name: str
    application: str
    command: tuple[str, ...]
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    stdin: str = ""
    deadline: float | None = None
    begin: float | None = None
    count: int = 1
    prepare: tuple[str, ...] = ()
    native: NativeDescription | None = None
    model: str = ""
    after: tuple[str, ...] = ()
    best_effort: bool = False
    time_limit: float | None = None
    notify: tuple[str, ...] = ()
    launch: LaunchMode = LaunchMode.EACH
    processes_per_host: int = 1
    retries: int = 0
    requeue: bool = True
    priority: int = 0
    array: str = ""
    array_index: int | None = None
    array_at_most: int = 0
    memory: int = 0
    cores: int = 0
    gpus: int = 0
    exclusive: bool = False
    licences: Mapping[str, int] = field(default_factory=dict)
    hosts_range: str = ""
    cores_range: str = ""
    processes: str = ""
    file_sizes: Mapping[str, int] = field(default_factory=dict)
    program_digest: str = ""
    adopted: str = ""
    elastic: Elastic | None = None
    partition: str = ""

    @property
    def ranged(self) -> bool:
        """Return whether cosched chooses what it takes of each host."""
        return bool(self.cores_range or self.processes)

    @property
    def needs(self) -> tuple[int, int, int]:
        """Return what it needs on each host: memory, cores, GPUs."""
        return self.memory, self.cores, self.gpus

    @property
    def constrained(self) -> bool:
        """Return whether it may run on some hosts and not on others, by what they have or by their partitions."""
        return any(self.needs) or bool(self.partition)

    def taking(self, chosen: Alternative) -> TaskSpec:
        """Return the request with what an alternative takes of each host."""
        return replace(
            self,
            memory=chosen.memory,
            cores=chosen.cores,
            gpus=chosen.gpus,
            processes_per_host=chosen.processes_per_host,
        )

    @property
    def stays(self) -> bool:
        """Return whether no other domain may have it.

        None watches what was promised here: an array's limit, or one run alone. Nor does one lend it hosts, or have
        this one's licences.
        """
        own = self.adopted or self.array_at_most or self.elastic or self.licences
        return bool(own) or not self.requeue

    def features(self, owner: str) -> RunFeatures:
        """Return what decides how long it runs, as far as command and files tell.

        Runs of other owners or in another folder may well be of other programs. Where cosched chooses the cores, their
        number is the last one.
        """
        if not self.ranged:
            apart = f"{owner} {self.launch} {self.processes_per_host}"
            return command_features((*self.command, self.directory), apart, self.file_sizes)
        apart = f"{owner} {self.launch} {'processes' if self.processes else 'cores'}"
        found = command_features((*self.command, self.directory), apart, self.file_sizes)
        return replace(found, numbers=(*found.numbers, float(self.cores)))

    @property
    def text_bytes(self) -> int:
        """Return the bytes of all its text in UTF-8.

        They are nearly what one more such task costs in memory and in the database.
        """
        texts = [self.name, self.application, self.directory, self.stdin, self.model]
        for several in (self.command, self.prepare, self.after, self.notify):
            texts += several
        texts += () if self.elastic is None else self.elastic.worker
        texts += self.file_sizes
        settings = {} if self.native is None else self.native.settings
        for pairs in (self.parameters, self.environment, settings):
            texts += pairs
            texts += map(str, pairs.values())
        if self.native is not None:
            texts.append(self.native.script)
        return sum(len(text) if text.isascii() else len(text.encode(errors="surrogatepass")) for text in texts)


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """State and history of a task. Times are epoch seconds, durations seconds.

    Attributes:
        reason: why it failed, was cancelled or is held; one line.
        dispatched: when its last attempt was decided.
        predicted: corrected run time at dispatch on the hosts chosen, as expected.
        actual: measured run time of the attempt that completed.
        attempts: how many attempts were made so far.
        hosts: hosts of the last attempt; empty before that and for a task without a profile.
        host_cores: how many cores of each of these hosts it had, or had asked for where it had the whole; 0 where it
            asked for none, before that and in another domain.
        held: whether it waits for its origin's permission to start.
        peer: domain that has it, or in which it ended; empty: this one.
        held_by: user who keeps it, as it waits, from being planned and dispatched; empty: nobody.
        claim: host-seconds that its deadline claims of a budget; 0: none, it is planned as if it had no deadline; None
            without a deadline, and where shares were not in force.
        claimed_at: when an edit had its deadline claim anew; None where it claims since its submission, if it does.
        failures: attempts whose program failed.
        unstarted: attempts in a row that the manager did not start on free hosts.
        load_factor: how many times longer than on dedicated hosts its last attempt is expected to run, for the owners
            of its hosts come back; `predicted` includes it.
        beside: part of the cores of its shared hosts that others had while its last attempt ran, on average over the
            run and of the fullest host; None where that is not known.
        contention: how many times longer than alone its last attempt is expected to run on shared hosts that others
            fill (`predicted` includes it); once it has completed, beside what was there.
        restarts: what its restarts have come to; None before the first, and for others than elastic tasks.
        avoids: host → epoch time until which it is planned on others, as it did not begin there.
    """

    state: TaskState = TaskState.QUEUED
    reason: str = ""
    dispatched: float | None = None
    started: float | None = None
    finished: float | None = None
    predicted: float | None = None
    actual: float | None = None
    exit_code: int | None = None
    attempts: int = 0
    hosts: tuple[str, ...] = ()
    host_cores: int = 0
    held: bool = False
    peer: str = ""
    held_by: str = ""
    claim: float | None = None
    claimed_at: float | None = None
    failures: int = 0
    unstarted: int = 0
    load_factor: float = 1.0
    beside: float | None = None
    contention: float = 1.0
    restarts: RestartRecord | None = None
    avoids: Mapping[str, float] = field(default_factory=dict)


class StatusChanges(TypedDict, total=False):
    """Fields of `TaskStatus` that a change names, so that each is checked like an argument."""

    state: TaskState
    reason: str
    dispatched: float | None
    started: float | None
    finished: float | None
    predicted: float | None
    actual: float | None
    exit_code: int | None
    attempts: int
    hosts: tuple[str, ...]
    host_cores: int
    held: bool
    peer: str
    held_by: str
    claim: float | None
    claimed_at: float | None
    failures: int
    unstarted: int
    load_factor: float
    beside: float | None
    contention: float
    restarts: RestartRecord | None
    avoids: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Task:
    """An accepted task: its request, its predicted run times and its status.

    Attributes:
        id: unique in the domain, given at acceptance ("17"); `number` orders by arrival.
        submitted: epoch seconds.
        origin: domain that forwarded it to us; empty for our own tasks.
        profile: predicted times on 1…N hosts before correction; None: no model, the task passes through (our own to the
            manager, that of another domain to the next one: `in_transit`). Of one with alternatives that waits it is
            that of the quickest for each number of hosts.
        correction: key under which predicted and actual times are compared; empty: not corrected.
        alternatives: the shapes among which cosched chooses, that with the fewest cores first; empty for a task with
            one.
        stage: its place in the chain of a tunable application; None for others.
    """

    id: str
    number: int
    submitted: float
    spec: TaskSpec
    owner: str = ""
    origin: str = ""
    profile: Profile | None = None
    correction: str = ""
    status: TaskStatus = TaskStatus()
    alternatives: tuple[Alternative, ...] = ()
    stage: StageInChain | None = None

    def with_status(self, **changes: Unpack[StatusChanges]) -> Task:
        """Return the task with fields of its status changed."""
        return replace(self, status=replace(self.status, **changes))

    @property
    def due(self) -> float | None:
        """Return the deadline that it is planned towards, epoch seconds.

        None without a deadline, and where it may claim none.
        """
        return None if self.status.claim == 0.0 else self.spec.deadline

    @property
    def stays(self) -> bool:
        """Return whether no other domain may have it: see `TaskSpec.stays`. The stages of a chain stay together."""
        return self.spec.stays or self.stage is not None

    @property
    def in_transit(self) -> bool:
        """Return whether the task only passes through, from one domain to another."""
        return bool(self.origin) and self.profile is None

    def correction_on(self, hardware: str) -> str:
        """Return the key of comparable runs and predictions on hosts of a class."""
        if self.profile is None or not self.profile.classes:
            return self.correction
        return self.correction.removesuffix(self.profile.hardware) + hardware

    def shaped(self, cores: int, hosts: Sequence[Host]) -> Task:
        """Return the task as it runs on these hosts with so many cores of each; 0: in its quickest shape."""
        if not self.alternatives:
            return self
        chosen = alternative_on(self.alternatives, cores, hosts)
        return replace(self, spec=self.spec.taking(chosen), profile=chosen.profile)

    def shapes(self) -> tuple[Task, ...]:
        """Return the task in each of its alternatives, as a task without others; itself where it has none."""
        if not self.alternatives:
            return (self,)
        return tuple(
            [
                replace(self, spec=self.spec.taking(each), profile=each.profile, alternatives=())
                for each in self.alternatives
            ]
        )

    def ahead(self, seconds: float) -> float:
        """Return how much of a run time is still ahead: all of it, but of a task that has checkpointed."""
        known = self.status.restarts
        return seconds if known is None else known.left * known.pace * seconds + known.reading

    def as_start(self) -> Task:
        """Return a task that checkpoints as it is launched: its program learns which start this is.

        Attempts that were lost do not count: from the second start on there is a checkpoint, unless it was ended.
        """
        stops = 0 if self.status.restarts is None else self.status.restarts.count
        environment = {**self.spec.environment, "COSCHED_START": str(stops + 1)}
        return replace(self, spec=replace(self.spec, environment=environment))

    def as_worker(self, number: int, lead: str) -> Task:
        """Return an elastic task as one of its workers is launched, with the address of its lead."""
        assert self.spec.elastic is not None
        filled = {"{lead}": lead, "{worker}": str(number)}
        command = tuple(_filled(word, filled) for word in self.spec.elastic.worker)
        environment = {**self.spec.environment, "COSCHED_WORKER": str(number), "COSCHED_LEAD": lead}
        return replace(self, spec=replace(self.spec, command=command, environment=environment, stdin="", prepare=()))

    def reopened(self) -> Task:
        """Return a task that waits once more, with all of its shapes."""
        if not self.alternatives:
            return self
        profile = quickest_profile(self.alternatives)
        correction = self.correction_on(profile.hardware)
        spec = self.spec.taking(self.alternatives[0])
        return replace(self, spec=spec, profile=profile, correction=correction)

    def on(self, classes: Iterable[str]) -> Task:
        """Return the task with its prediction on hosts of these classes, for its run."""
        if self.profile is None or not self.profile.classes:
            return self
        profile = self.profile.among(classes)
        return replace(self, profile=profile, correction=self.correction_on(profile.hardware))


_BRACED = re.compile(r"\{(\{\w+\})\}|\{\w+\}", re.ASCII)


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with placeholders filled in; what is filled in is not looked at again.

    `{{name}}` stands for `{name}` itself.
    """
    return _BRACED.sub(lambda found: found[1] or values.get(found[0], found[0]), word)
