"""Documents of the domain as a whole: its state, and its schedule."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ForwardedPlacement", "LicenceView", "PlacementView", "PlanView", "SearchPoint", "Status"]


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
        lent: whether an elastic task has these hosts beyond those promised to it, until others need them. It has a
            place for what is promised, and one for each host that it is lent.
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
    lent: bool = False

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
class SearchPoint:
    """Quality of the plan at one time: its end and its gap to the bound.

    The end is that of all waiting tasks.
    """

    time: float
    end: float
    gap: float | None
    evaluations: int
