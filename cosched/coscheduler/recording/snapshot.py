"""A snapshot holds all that a core remembers; another core goes on from it exactly.

Problems, profile rows and forecasts are derived, and left out. Start at `CoreSnapshot`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.resize_counts import ResizeCounts
from cosched.coscheduler.places.occupancy import OccupancySnapshot
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.sharing.fair_shares import SharesSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.dispatching.submit_limits import OwnerLimit
    from cosched.coscheduler.elastic.values import BadPlacesRecord, SetbackRecord, WorkRecord
    from cosched.coscheduler.events import (
        AttemptAbsent,
        JobReported,
        NeighboursChanged,
        ScheduleImproved,
        SubmitFailed,
    )
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.task import Task
    from cosched.prediction.calibration import Correction, DispatchLatency
    from cosched.prediction.contention import Contention
    from cosched.prediction.efficiency import WorkerStatistics
    from cosched.prediction.loads.host_load import HostLoad

__all__ = [
    "AttemptsSnapshot",
    "AvoidedHosts",
    "CoreSnapshot",
    "ElasticSnapshot",
    "QueueSnapshot",
    "StagingSnapshot",
    "UnstartedAttempt",
    "UnstartedSnapshot",
]


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """The queue; its attributes are those of `TaskQueue`.

    Attributes:
        unmodelled: tasks without a profile, in order of arrival.
        searched: tasks that a settled plan of the search has covered.
    """

    plan: TaskPlan = field(default_factory=TaskPlan)
    held_back: Mapping[str, float] = field(default_factory=dict)
    start_requests: Mapping[str, int] = field(default_factory=dict)
    offered_to_neighbours: Mapping[str, bool] = field(default_factory=dict)
    in_transit: tuple[str, ...] = ()
    unmodelled: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StagingSnapshot:
    """Moments from which staging counts, epoch seconds; see `Staging`.

    Attributes:
        awaited: since when the search starts; None for one that is at work.
        answered: when its first answer came after it was awaited.
        hosts_known: when hosts were up for the first time.
    """

    awaited: float | None = None
    answered: float = 0.0
    hosts_known: float | None = None


@dataclass(frozen=True, slots=True)
class UnstartedAttempt:
    """An attempt in the manager's queue. Times are epoch seconds.

    Attributes:
        since: when it began to wait.
        ask: when the manager is asked next why it has not begun.
        asked: when it was asked; None while no answer is due.
        reason: its last answer.
    """

    since: float
    ask: float
    asked: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AvoidedHosts:
    """Hosts on which a task did not begin, and the epoch time until which it is planned on others."""

    until: float
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnstartedSnapshot:
    """Memory of attempts that did not begin; see `UnstartedAttempts`.

    Attributes:
        waiting: attempt → since when it waits.
        tries: task → attempts in a row that did not begin.
        retry: task → epoch time before which it is not tried again.
        tried: task → hosts on which it did not begin.
        accusers: host → tasks that did not begin there, and nowhere else.
        aside: host → epoch time until which others are preferred.
        calls: attempts called back since the start.
        avoids: task → the hosts that it avoids.
    """

    waiting: Mapping[str, UnstartedAttempt] = field(default_factory=dict)
    tries: Mapping[str, int] = field(default_factory=dict)
    retry: Mapping[str, float] = field(default_factory=dict)
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accusers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: Mapping[str, float] = field(default_factory=dict)
    calls: int = 0
    avoids: Mapping[str, AvoidedHosts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttemptsSnapshot:
    """Memory of the manager's answers.

    Attributes:
        paused_until: no attempt is submitted before this epoch time.
        failures: submits in a row that the manager did not answer.
        lost: task → attempts whose hosts were lost.
        cancel_requests: attempt being cancelled → when the manager was asked last.
        limits: the known limits of the manager, by owner.
        distrusted: tasks whose attempts may have been cancelled in changes that the database has forgotten.
        unstarted: attempts that have not begun, and what they taught.
        ended_leads: elastic task → the report that its lead has ended, until its workers have.
        refusals: task of a user's own job → times in a row that this job could not be let go.
    """

    paused_until: float = 0.0
    failures: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    cancel_requests: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, OwnerLimit] = field(default_factory=dict)
    distrusted: tuple[str, ...] = ()
    unstarted: UnstartedSnapshot = field(default_factory=UnstartedSnapshot)
    ended_leads: Mapping[str, JobReported | SubmitFailed | AttemptAbsent] = field(default_factory=dict)
    refusals: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ElasticSnapshot:
    """Memory of elastic tasks; see `ElasticTasks`.

    Attributes:
        work: how far each running one has come.
        drain: seconds from the order to leave until a host is free, as learnt.
        next_look: when each running task that checkpoints is looked at again, epoch seconds.
        setbacks: of running ones whose workers failed soon after their start, or did not begin.
        speeds: of running ones whose leads measure the speeds of their workers.
        links: of running ones whose leads measure how their workers spend their time: clusters with slow links.
        overheads: what these have measured last.
        resizes: counts of how they grew and shrank.
    """

    work: Mapping[str, WorkRecord] = field(default_factory=dict)
    drain: float = 2.0
    next_look: Mapping[str, float] = field(default_factory=dict)
    setbacks: Mapping[str, SetbackRecord] = field(default_factory=dict)
    speeds: Mapping[str, BadPlacesRecord] = field(default_factory=dict)
    links: Mapping[str, BadPlacesRecord] = field(default_factory=dict)
    overheads: Mapping[str, tuple[WorkerStatistics, ...]] = field(default_factory=dict)
    resizes: ResizeCounts = field(default_factory=ResizeCounts)


@dataclass(frozen=True, slots=True)
class CoreSnapshot:
    """The state of a core between two events; tasks, attempts and hosts keep their order.

    Attributes:
        claimed: host that others have → since when, epoch seconds.
        corrections: learnt corrections, by `Task.correction`.
        latency: time from a decision to the start of its job, as learnt.
        neighbours: the last word about them.
        dispatched_at: when the core last looked at what may leave, epoch seconds.
        last_search: the last answer of the search.
        last_improvement: when an answer last made the plan better, and what became better.
        last_number: the highest that a task was given; a recording of before it was kept has none.
        shares: the tree in force, and what users have had.
        elastic: what is remembered of elastic tasks.
        loads: what the owners of hosts are expected to take of them.
        staging: what staging counts from.
        contentions: what runs have taught of others beside them, by application and class of hosts.
        occupancy: what jobs have had of shared hosts.
        overruns: ends that plans reckon with of runs that last too long, epoch seconds, by attempt.
        looked_at: the chain for which a better way was sought last.
    """

    tasks: tuple[Task, ...]
    attempts: tuple[Attempt, ...]
    hosts: tuple[Host, ...]
    claimed: Mapping[str, float]
    reservations: tuple[Reservation, ...]
    queue: QueueSnapshot
    manager: AttemptsSnapshot
    corrections: Mapping[str, Correction]
    latency: DispatchLatency
    neighbours: NeighboursChanged
    dispatched_at: float
    last_search: ScheduleImproved | None = None
    last_improvement: tuple[float, str] | None = None
    last_number: int = 0
    shares: SharesSnapshot = field(default_factory=SharesSnapshot)
    elastic: ElasticSnapshot = field(default_factory=ElasticSnapshot)
    loads: Mapping[str, HostLoad] = field(default_factory=dict)
    staging: StagingSnapshot = field(default_factory=StagingSnapshot)
    contentions: Mapping[str, Contention] = field(default_factory=dict)
    occupancy: OccupancySnapshot = field(default_factory=OccupancySnapshot)
    overruns: Mapping[str, float] = field(default_factory=dict)
    looked_at: str = ""
