"""Documents of the domain: hosts, reservations, neighbours, schedule, past runs and the agents' network."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "Accuracy",
    "AdvertisingView",
    "AdviceView",
    "DeadlineOutcome",
    "ExchangeView",
    "ForwardedPlacement",
    "FreeView",
    "HostLoadView",
    "HostView",
    "LearntApplication",
    "LearntRunView",
    "LicenceView",
    "NetworkView",
    "OutlookView",
    "PeerView",
    "PlacementView",
    "PlanView",
    "ReservationRequest",
    "ReservationView",
    "RunView",
    "SearchPoint",
    "Status",
    "UsageView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeView:
    """What is free of a host that tasks share; `memory` in MiB, null where the manager does not say how much it has."""

    memory: int | None
    cores: int
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """A host; `task`, `owner` and `free_at` say what occupies it, and until when.

    Another user's task has no name here: what is not free is `busy`, and `free_at` is null where nobody has predicted
    when that ends. `reserved` says for what the host is kept now.
    `memory` (MiB), `cores` and `gpus` are what a job may have of it; null where the manager does not say.
    Where tasks share hosts, `tasks` are all that have names here, `free` is what is left, and `free_at` is when the
    last of them ends; `task` is the one if there is only one, `owner` names the owners of all, joined by ", ". Else
    `tasks` is empty, `free` null.
    What jobs that are not cosched's hold of it counts in plans until `others_until` (null: there are none), whether or
    not the manager says when they end; `others_cores` are the cores that they hold, 0 for the whole host.
    `cluster` names the hosts, such as those of a site, between which communication is quick; empty where nobody says.
    """

    name: str
    host_class: str
    up: bool
    reason: str
    task: str
    free_at: float | None
    reserved: str = ""
    owner: str = ""
    memory: int | None = None
    cores: int | None = None
    gpus: int | None = None
    tasks: tuple[str, ...] = ()
    free: FreeView | None = None
    others_until: float | None = None
    others_cores: int = 0
    cluster: str = ""
    busy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoadView:
    """What somebody else takes of a host. Parts of the host are 0 to 1.

    Attributes:
        host: its name.
        cause: "owner", for whom tasks there wait or with whom they share the host; "jobs", which the resource manager
            runs for others in between.
        now: part that is taken now.
        coming: parts that are expected in this hour and the next ones.
        planned: part that plans reckon with; 0 for a cause that lengthens no run.
        departed: whether the load is another than its past foretells, so that plans follow what is seen.
        rate: how often it begins in an hour in which the host is idle.
        mean: how long it lasts, seconds.
        deviation: standard deviation of that, seconds.
        hours: from how many hours this was learnt.
    """

    host: str
    cause: str
    now: float
    coming: tuple[float, ...]
    planned: float
    departed: bool
    rate: float
    mean: float
    deviation: float
    hours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRequest:
    """Hosts to be kept for others until `end`.

    Attributes:
        start: its begin; null: now.
        name: its purpose, for people.
    """

    hosts: tuple[str, ...]
    end: float
    start: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationView:
    """Hosts that are kept for others.

    Attributes:
        owner: the user who made it.
        tasks: tasks that are predicted to run into it and are left to run; of other users' nothing.
    """

    id: str
    name: str
    hosts: tuple[str, ...]
    start: float
    end: float
    owner: str
    created: float
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerView:
    """A neighbouring domain.

    Attributes:
        role: "neighbour", "upper" or "lower".
        paused: nothing new is exchanged with it.
        heard: when it was heard of last; null: not since the daemon started.
        hosts: how many it advertises, and how many of them are wholly `free` now by what it said.
        cores: of its hosts where tasks share them, and how many of these are free now (`free_cores`); 0 elsewhere.
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
    cores: int = 0
    free_cores: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeView:
    """A task that went to a neighbouring domain, or came from one.

    Attributes:
        direction: "sent" or "received".
        time: when it went or came.
        state: of the hand-over where it was sent ("committing", "held", "granted", "ended", "refused", "returned",
            "reclaimed"), else of the task here.
        closed: when it ended; null while it goes on.
        why: the reason for the choice, where it was sent, then how it ended.
    """

    peer: str
    direction: str
    task: str
    name: str
    owner: str
    time: float
    state: str
    closed: float | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Accuracy of an application's predictions on a class of hosts.

    Attributes:
        ratios: measured / predicted as it was at dispatch, the newest run last.
        factor: present multiplier of the model's own figures.
        runs: how many runs that was learned from.
        contention: how much longer it runs on a host that others fill than alone, 0.08 for 8 %; null where runs have
            not taught it.
        contention_runs: how many runs on shared hosts teach that, of the newest ones.
    """

    application: str
    hardware: str
    ratios: tuple[float, ...]
    factor: float
    runs: int
    contention: float | None = None
    contention_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The daemon in short; without `faults`, all is well.

    `faults` are sentences on everything that does not work.

    `tasks` counts those that the principal may see, `calls` how often the manager was asked since the daemon began.
    `as_of` is the time that hosts and tasks are of: now, or longer ago where core or database do not answer.
    Of the tasks with deadlines that run or wait `on_time`, `at_risk` (one run in twenty at least would be late) and
    `late` count those of which that is expected, as it was some seconds ago; null: not known yet.
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
    as_of: float | None = None
    late: int | None = None
    at_risk: int | None = None
    on_time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementView:
    """A task's place in the plan; another user's task has no name, owner and deadline.

    Attributes:
        start: when its job began, or is expected to begin.
        end: when it is expected to end; null where nobody has predicted that, and for a held job.
        reckoned: until when plans reckon with a run whose end nobody has predicted; null for all others.
        running: whether it has a job.
        state: the task's: "running" where its job has begun, "dispatching" where that is still to come; "held" where
            the resource manager holds its job, whose hosts others have meanwhile.
        unstarted: seconds for which its job has not begun; 0 where all is well.
        overrun: seconds by which it runs longer than predicted; 0 within the usual.
        certain: whether its end can be counted on: not where a job has not begun that should have.
        cores: that it takes of each of its hosts where tasks share them; 0 for the whole.
        memory: MiB of each of these hosts; 0 for the whole, as for GPUs.
        gpus: of each of these hosts.
        end_high: after when one run in twenty ends; null where no range is known, and for another user's task.
    """

    task: str
    name: str = ""
    application: str = ""
    hosts: tuple[str, ...]
    start: float
    end: float | None
    deadline: float | None
    running: bool
    owner: str = ""
    unstarted: float = 0.0
    overrun: float = 0.0
    certain: bool = True
    cores: int = 0
    memory: int = 0
    gpus: int = 0
    end_high: float | None = None
    reckoned: float | None = None
    state: str = ""

    @property
    def occupies(self) -> bool:
        """Return whether its job has its hosts now."""
        return self.running and self.state != "held"

    @property
    def until(self) -> float:
        """Return until when plans reckon with it: its expected end, where one is known."""
        return self.start if (known := self.reckoned if self.end is None else self.end) is None else known

    @property
    def in_hand(self) -> float | None:
        """Return the seconds from its end to its deadline, below 0 where it is late; None where one is not known."""
        return None if self.end is None or self.deadline is None else self.deadline - self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedPlacement:
    """A task that another domain has.

    Attributes:
        task: its identifier here.
        peer: the domain.
        end: when that domain expects it to end.
    """

    task: str
    peer: str
    end: float
    deadline: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceView:
    """A licence of the domain.

    Attributes:
        total: how many there are.
        in_use: how many this domain's tasks hold.
        tasks: those that do, of other users without names here and so left out.
        waiting: tasks that ask for it and have no job.
    """

    name: str
    total: int
    in_use: int
    tasks: tuple[str, ...] = ()
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """The schedule in force.

    Attributes:
        forwarded: tasks in other domains, where these have said when they expect to end them.
        makespan: seconds from `time` to the end of the last task that runs or waits, of those whose ends are known.
        bound: no schedule of the waiting tasks is shorter, seconds from `time`; null before the search has said it.
        gap: (planned makespan of the waiting tasks - bound) / bound; null likewise.
        optimal: it is proved that no schedule of the waiting tasks is shorter than the planned one: it is at the bound.
        called_back: jobs that were called back since the start, because they had not begun.
        licences: the domain's, by name.
        overdue: tasks that have no place in the plan, and whose deadlines have passed; other users' are left out.
        evaluations: schedules the search has looked at for this queue.
        rate: generations of the search in each second that it worked on this queue; null before it has begun.
        changed: when the search last made the plan better; null before it has.
        why: the improvement then, such as "1 more task on time, makespan 61 → 58 s".
    """

    time: float
    placements: tuple[PlacementView, ...]
    makespan: float
    bound: float | None
    gap: float | None
    evaluations: int
    rate: float | None = None
    changed: float | None = None
    why: str = ""
    called_back: int = 0
    optimal: bool = False
    forwarded: tuple[ForwardedPlacement, ...] = ()
    licences: tuple[LicenceView, ...] = ()
    overdue: tuple[str, ...] = ()

    @property
    def unforeseen(self) -> int:
        """Return how many of the running tasks have no end that anybody has predicted."""
        return sum(spot.end is None and spot.occupies for spot in self.placements)

    def expected_ends(self) -> dict[str, float]:
        """Return when its tasks are expected to end, here and in other domains; epoch seconds."""
        here = {spot.task: spot.end for spot in self.placements if spot.task and spot.end is not None}
        return here | {spot.task: spot.end for spot in self.forwarded}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One attempt that has ended, on its hosts.

    Another user's task has no name, owner and deadline. `cores` is what it took of each of its hosts where tasks share
    them, 0 for the whole.
    """

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    state: str
    cores: int = 0
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRunView:
    """A run from which later ones are foretold.

    Attributes:
        task: the task that it was of, which may be kept no longer.
        numbers: those among the words of its command, by which it is compared with others.
        hosts: how many it had.
        hardware: class of its hosts, empty where the manager names none.
        predicted: seconds that were predicted for it; null without a prediction.
        seconds: how long it took.
        finished: when it ended.
        program_digest: the digest of its program; empty where nobody looked.
        stated: seconds that its model or its user foretold alone; null where neither did.
        low: seconds that one run in twenty was expected to stay below; null where no range was known.
        high: those that one in twenty was expected to exceed, likewise.
    """

    task: str
    owner: str
    numbers: tuple[float, ...]
    hosts: int
    hardware: str
    predicted: float | None
    seconds: float
    finished: float
    program_digest: str = ""
    stated: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntApplication:
    """An application of which runs are kept.

    Attributes:
        name: the application.
        runs: how many there are.
        finished: when the last of them ended.
    """

    name: str
    runs: int
    finished: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineOutcome:
    """A task with a deadline that has completed, by its deadline or after it, or has failed."""

    task: str
    name: str
    owner: str
    application: str
    state: str
    submitted: float
    finished: float
    deadline: float

    @property
    def slack(self) -> float:
        """Return the seconds that were left until its deadline; below 0 where it was late."""
        return self.deadline - self.finished

    @property
    def met(self) -> bool:
        """Return whether it completed by its deadline; a task that failed has met none."""
        return self.state == "completed" and self.slack >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageView:
    """Use of the hosts by one user, group or application since a time.

    Attributes:
        name: the user, group or application; empty for tasks that are of none.
        tasks: those that had hosts in this time.
        runs: their attempts that had.
        host_seconds: each host of these counts for as long as it was theirs, the running ones until now.
        on_time: tasks that completed in this time by their deadline.
        late: tasks that completed in this time after it.
    """

    name: str
    tasks: int
    runs: int
    host_seconds: float
    on_time: int
    late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPoint:
    """Quality of the plan at one time: its end and its gap to the bound.

    The end is that of all waiting tasks.
    """

    time: float
    end: float
    gap: float | None
    evaluations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvertisingView:
    """A way of advertising: seconds between advertisements, unasked or not, hops they go.

    Attributes:
        lifetime: for how many seconds what was told is believed.
    """

    period: float
    push: bool
    scope: int
    lifetime: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookView:
    """Results of one way of advertising in simulation.

    Attributes:
        late: share of the tasks that missed their deadlines.
        lateness: by how much, mean over all tasks ÷ the mean of their shortest run times.
        letters: for each task.
    """

    late: float
    lateness: float
    letters: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceView:
    """Findings of the adviser at `time`; `best` is `present` where nothing was clearly better.

    Attributes:
        tried: how many ways of advertising were simulated.
        tasks: how many recent tasks each of them met.
        adopted: whether the agent does it in this way since then.
    """

    time: float
    present: AdvertisingView
    present_outlook: OutlookView
    best: AdvertisingView
    best_outlook: OutlookView
    tried: int
    tasks: int
    adopted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkView:
    """Figures of our agent since it began, and the advice for it.

    Attributes:
        since: when it began.
        offered: times that a task was offered around; `in_vain`: how often no domain did better.
        forwarded: hand-overs begun; `came_back`: how many ended without a run.
        taken: tasks of neighbours taken in; `hops`: domains that they had passed, mean.
        staleness: age of the advertisements by which takers were chosen, mean seconds.
        misjudged: how far the promised end lay from the one estimated by them, mean seconds.
        letters_each: letters about tasks, sent and received, for each task offered or taken in.
        spreading: letters sent to tell and to ask what is free.
        sent: letters by kind; likewise `received`.
        advertising: in force.
        adviser: off, advise or adopt.
        advice: the last; null before it.
        fault: why there is no newer advice; empty where there is none the matter.
    """

    since: float
    offered: int
    in_vain: int
    forwarded: int
    came_back: int
    taken: int
    hops: float | None
    staleness: float | None
    misjudged: float | None
    letters_each: float | None
    spreading: int
    sent: dict[str, int]
    received: dict[str, int]
    advertising: AdvertisingView
    adviser: str
    advice: AdviceView | None
    fault: str
