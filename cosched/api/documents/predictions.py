"""Documents of predictions: how long a task runs, when it would end, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.api.documents.elastic import PromiseView
from cosched.api.documents.stages import WayView

__all__ = ["AlternativeView", "Effect", "Evidence", "Forecast", "NearRun", "ProfileView"]


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
