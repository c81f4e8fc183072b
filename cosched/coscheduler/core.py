"""The co-scheduler of one domain takes events and returns decisions. It is pure.

It has no clock, I/O, threads or randomness: the daemon, the simulator and the fault tests run this same code, and any
run can be replayed from its events.


    TaskSubmitted ─► queue ─► DispatchAttempt ─► AttemptSubmitted ─► JobReported(running) ─► JobReported(completed)
                       ▲             │ error, restart                            │ host lost: CancelAttempt
                       └─────────────┴─ AttemptAbsent ◄─ LocateAttempt ◄─────────┘

At most one attempt of a task is live at any time, and none is given up before the manager's word or a fence.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
from cosched.coscheduler.dispatching.dispatcher import Dispatcher
from cosched.coscheduler.dispatching.looks import DispatchLooks
from cosched.coscheduler.dispatching.planned_starts import PlannedStarts
from cosched.coscheduler.dispatching.start_limits import StartLimits
from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
from cosched.coscheduler.elastic.elastic_tasks import ElasticTasks
from cosched.coscheduler.events import (
    AdoptedJobGone,
    AdoptedJobStarted,
    AttemptAbsent,
    CancelRequested,
    EditRequested,
    Event,
    HoldRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    LeadEvent,
    NeighboursChanged,
    OfferEnded,
    PeerReported,
    ReleaseRequested,
    ReservationReleased,
    Restored,
    ScheduleImproved,
    SearchAwaited,
    SharesChanged,
    StageDone,
    StartPermitted,
    SubmitFailed,
    TaskForwarded,
    TaskReturned,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.forwarding import Forwarding
from cosched.coscheduler.places.owner_loads import reckon_with_loads
from cosched.coscheduler.planning.plan_adoption import PlanAdoption
from cosched.coscheduler.planning.planning_view import PlanningView
from cosched.coscheduler.planning.reschedule_trigger import RescheduleTrigger
from cosched.coscheduler.planning.staging import Staging
from cosched.coscheduler.planning.task_queue import TaskQueue
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.coscheduler.sharing.deadline_claims import DeadlineClaims
from cosched.coscheduler.sharing.fair_shares import SharesSnapshot
from cosched.coscheduler.stages.admission import admit, first_late, foresee, placed_ways
from cosched.coscheduler.stages.chain_leads import ChainLeads
from cosched.coscheduler.stages.chains import Chains
from cosched.coscheduler.stages.kept_hosts import may_begin
from cosched.coscheduler.stages.ways import waiting_stages
from cosched.coscheduler.state import CoreState
from cosched.coscheduler.task import TaskState
from cosched.coscheduler.task_requests import TaskRequests
from cosched.scheduling.policies import find_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.attempts.unstarted import UnstartedAttempts
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.dispatching.submit_limits import OwnerLimit
    from cosched.coscheduler.events import ManagerEvent
    from cosched.coscheduler.places.contention import ExpectedContention
    from cosched.coscheduler.places.licences import LicenceUse
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.coscheduler.sharing.fair_shares import FairShares
    from cosched.coscheduler.sharing.host_limits import HostRoom
    from cosched.coscheduler.stages.admission import Admission
    from cosched.coscheduler.stages.trial_plan import PlacedWay
    from cosched.coscheduler.task import Task
    from cosched.prediction.calibration import Correction
    from cosched.prediction.contention import Contention

__all__ = ["Coscheduler"]

_PUTS_BACK = (JobReported, AttemptAbsent, SubmitFailed, TaskReturned)  # tasks that had left may wait again


class Coscheduler:
    """State of a domain and what to do next.

    Attributes:
        settings: the administrator's settings.
        domain: the hosts.
        reservations: hosts that are kept for others.
        planning_view: the waiting tasks as a problem, and their planned places.
    """

    def __init__(self, settings: CoreSettings) -> None:
        self.settings = settings
        self._policy = find_policy(settings.policy)
        self._staging = Staging(settings.staging, settings.search_start)
        self._begin()

    def _begin(self) -> None:
        """Begin anew: nothing is known."""
        settings = self.settings
        self._last_number = 0
        self._state = CoreState(
            share_hosts=settings.share_hosts, licences=settings.licences, contention=settings.contention
        )
        self.domain, self.reservations = self._state.hosts, self._state.reservations
        self._corrections = self._state.corrections
        submits = SubmitLimits(settings)
        self._limits = StartLimits(self._state, submits)
        self._queue = TaskQueue(self._staging, self._limits.waits, by_deadline=self._policy.searched)
        self._looks = DispatchLooks(self._state, self._queue, submits, searched=self._policy.searched)
        self._lifecycle = AttemptLifecycle(settings, self._state, self._queue, submits)
        self._forwarding = Forwarding(settings, self._state, self._queue, self._lifecycle)
        self.planning_view = PlanningView(settings, self._state, self._queue, self._lifecycle)
        self.elastic = ElasticTasks(settings, self._state, self._queue, self._lifecycle, self.planning_view)
        self._trigger = RescheduleTrigger(settings, self._state, self.planning_view)
        self._chains = Chains(
            self._state, self._queue, self.planning_view, self._lifecycle, guarantees=self._policy.searched
        )
        self.chain_leads = ChainLeads(self._state, self._queue, self.planning_view, self._lifecycle, self._chains)
        self._claims = DeadlineClaims(self._state, self.planning_view)
        self._requests = TaskRequests(self._state, self._queue, self._lifecycle, self._chains, self._claims)
        self._adoption = PlanAdoption(settings, self._queue, self.planning_view, self._chains)
        self._planned_starts = PlannedStarts(settings, self._state, self._queue, self.planning_view)
        self._dispatcher = Dispatcher(self._state, self._queue, self._limits, self._lifecycle, self._forwarding)

    def handle(self, event: Event) -> Outcome:
        """Take one event and return what to write down and what to do.

        Events may come late, twice or in the wrong order; what no longer matters is ignored.
        """
        self._state.begin(event.time)
        self.planning_view.forget()
        live = len(self._state.attempts)
        self._take(event)
        if self._state.elastic:
            self.elastic.tend(event.time)
        if self._state.chained:
            self.chain_leads.tend(event.time)
            self._chains.tend(event.time)
            if isinstance(event, _PUTS_BACK):
                self._chains.repair(event.time)
            if len(self._state.attempts) < live:
                self._chains.improve(event.time)
        if self._looks.due(event) and event.time >= self._lifecycle.paused_until:
            self._dispatch(event.time)
            self._looks.last = event.time
        return self._state.outcome(event)

    @classmethod
    def from_snapshot(cls, settings: CoreSettings, snapshot: CoreSnapshot) -> Coscheduler:
        """Return a core that goes on exactly as the snapshot's did."""
        core = cls(settings)
        core._load(snapshot)
        return core

    def snapshot(self) -> CoreSnapshot:
        """Return all that the core remembers. Not to be confused with the search's `PlanningView.snapshot`."""
        return CoreSnapshot(
            tasks=tuple(self.tasks.values()),
            attempts=tuple(self.attempts.values()),
            hosts=tuple(self.domain.hosts.values()),
            claimed=self.domain.claimed(),
            reservations=self.reservations.known(),
            queue=self._queue.snapshot(),
            manager=self._lifecycle.snapshot(),
            corrections=self.corrections(),
            latency=self._corrections.dispatch_latency,
            neighbours=self._forwarding.neighbours,
            dispatched_at=self._looks.last,
            last_search=self.last_search,
            last_improvement=self.last_improvement,
            last_number=self._last_number,
            shares=self._state.shares.snapshot(),
            elastic=self.elastic.snapshot(),
            loads=dict(self.domain.loads),
            staging=self._staging.snapshot(),
            contentions=self.contentions(),
            occupancy=self._state.occupancy.snapshot(),
            overruns=self._trigger.snapshot(),
            looked_at=self._chains.looked_at,
        )

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Live tasks by identifier; an ended one is reported in its last outcome and forgotten."""
        return self._state.tasks

    @property
    def tasks_by_owner(self) -> Mapping[str, int]:
        """Number of live tasks by owner; who has none is left out."""
        return self._state.tasks_by_owner

    @property
    def bytes_by_owner(self) -> Mapping[str, int]:
        """Text of live tasks in bytes, by owner; who has none is left out."""
        return self._state.bytes_by_owner

    @property
    def attempts(self) -> Mapping[str, Attempt]:
        """Live attempts by UUID."""
        return self._state.attempts

    @property
    def fair_shares(self) -> FairShares:
        """The shares in force and what users have had."""
        return self._state.shares

    def host_room(self) -> HostRoom:
        """Return how many hosts users and groups may still take."""
        return self._state.host_room()

    @property
    def last_search(self) -> ScheduleImproved | None:
        """The last answer of the search; None before the first."""
        return self._adoption.last_search

    @property
    def last_improvement(self) -> tuple[float, str] | None:
        """Time of the last answer that made the plan better, epoch seconds, and the improvement in words."""
        return self._adoption.last_improvement

    @property
    def next_number(self) -> int:
        """Number of the next new task; no number is given twice.

        It stays the same until that task has come.
        """
        return self._last_number + 1

    @property
    def plan(self) -> TaskPlan:
        """The current plan: the waiting tasks that have a profile."""
        return self._queue.plan

    @property
    def in_transit(self) -> Iterable[str]:
        """Guests that cannot run here and wait for another domain, in order of arrival."""
        return tuple(self._queue.in_transit)

    @property
    def unstarted(self) -> UnstartedAttempts:
        """Attempts that the manager has and has not started; to be read."""
        return self._lifecycle.unstarted

    @property
    def paused_until(self) -> float:
        """Time before which no attempt is submitted, epoch seconds; 0 where nothing pauses.

        Submits pause after the manager did not answer.
        """
        return self._lifecycle.paused_until

    def owner_is_limited(self, task: str, time: float) -> bool:
        """Return whether the manager takes no more attempts of the task's owner for now."""
        return self._limits.owner_is_limited(self.tasks[task], time)

    def owner_limit(self, task: str) -> OwnerLimit | None:
        """Return the known limit of the task's owner, None without a sign of any."""
        return self._lifecycle.limits.by_owner.get(self.tasks[task].owner)

    @property
    def licences(self) -> LicenceUse:
        """The domain's licences and their use; to be read."""
        return self._state.licences

    @property
    def licensed(self) -> Iterable[str]:
        """Live tasks that ask for licences, in order of arrival."""
        return self._state.licensed

    def lead_obstacle(self, task: str) -> str:
        """Say that a stage may not begin, as leads that stay for later stages could not end beside it; or empty."""
        if may_begin(self._state, self.tasks[task]):
            return ""
        return "programs that keep a host for later stages, which need more hosts than would be left beside it"

    def array_obstacle(self, task: str) -> str:
        """Say that as many tasks of a live task's array run as may; empty where not."""
        return self._limits.array_obstacle(self.tasks[task])

    def attempt_of(self, task: str) -> Attempt | None:
        """Return the live attempt of a task, if there is one."""
        return self._state.attempt_of(task)

    def workers_of(self, task: str) -> tuple[Attempt, ...]:
        """Return the live workers of an elastic task."""
        return self._state.workers_of(task)

    def leads(self) -> list[Attempt]:
        """Return the live leads of elastic tasks."""
        found = (self._state.attempt_of(name) for name in self._state.elastic)
        return [lead for lead in found if lead is not None and lead.lead is not None]

    def predecessors(self, task: str) -> tuple[str, ...]:
        """Return the predecessors of a live task that have not completed; it waits for them."""
        return self._state.predecessors(self.tasks[task])

    def held_back_until(self, task: str) -> float | None:
        """Return the epoch time before which a task is not tried again, or None."""
        return self._queue.held_back.get(task)

    def overtaken_by(self, task: Task) -> int:
        """Return how many waiting tasks a new one is placed before.

        Where the policy searches, a new task is inserted by deadline.

        Other policies plan what waits in order of arrival.
        """
        return self._queue.overtaken_by(task)

    def foresee_chain(self, chain: Sequence[Task], time: float) -> Admission:
        """Return how a new chain would be admitted; nothing is changed."""
        return admit(self.planning_view, self._state, chain, time)

    def foresee_ways(self, chain: Sequence[Task], time: float) -> tuple[Admission, list[PlacedWay]]:
        """Return how a new chain would be admitted, and all its ways beside that, the one of the admission first."""
        return foresee(self.planning_view, self._state, chain, time)

    def first_late_chain(self, chains: Sequence[Sequence[Task]], time: float) -> int | None:
        """Return the place of the first of several new chains that is late behind the others; None where none is."""
        return first_late(self.planning_view, self._state, chains, time)

    def ways(self, chain: Sequence[Task], time: float) -> list[PlacedWay]:
        """Return the places of a chain's open ways, each planned alone, the best first.

        Args:
            chain: its tasks that have not left, in order, whether they are known here or not.
            time: now, epoch seconds.
        """
        return placed_ways(self.planning_view, self._state, chain, time)

    def waiting_stages(self, chain: str) -> list[Task]:
        """Return the tasks of a chain that have not left, in order."""
        return waiting_stages(self._state, chain)

    def staged(self, task: Task, time: float) -> bool:
        """Return whether the search has looked at a waiting task, or had its time to."""
        return self._queue.staged(task, time)

    def corrections(self) -> dict[str, Correction]:
        """Return what runs have taught of the models, by key."""
        return dict(self._corrections.corrections)

    def contentions(self) -> dict[str, Contention]:
        """Return what runs have taught of others beside them on shared hosts, by `contention_key`."""
        return dict(self._corrections.contentions)

    @property
    def contention(self) -> ExpectedContention:
        """Slowdown that plans expect from others beside tasks on shared hosts."""
        return self._corrections.contention

    def _take(self, event: Event) -> None:
        """Change the state as an event says; nothing leaves yet."""
        match event:
            case Restored():
                self._restore(event)
            case TaskSubmitted():
                self._accept(event.task, event.time)
            case (
                CancelRequested()
                | EditRequested()
                | HoldRequested()
                | ReleaseRequested()
                | AdoptedJobGone()
                | AdoptedJobStarted()
            ):
                self._requests.fulfil(event)
            case HostsObserved():
                self._observe(event)
            case HostsReserved() | ReservationReleased() | SharesChanged():
                self._divide(event)
            case ScheduleImproved() | SearchAwaited():
                self._hear_search(event)
            case Tick():
                self._lifecycle.cancels.ask_again(event.time)
                self._lifecycle.unstarted.ask(event.time)
                self._trigger.look(event.time)
            case (
                TaskForwarded()
                | TaskReturned()
                | PeerReported()
                | StartPermitted()
                | OfferEnded()
                | NeighboursChanged()
            ):
                self._forwarding.handle(event)
            case _:
                self._hear(event)

    def _hear(self, event: ManagerEvent | LeadEvent) -> None:
        """Take the word of the manager about an attempt, or that of a lead."""
        if isinstance(event, StageDone):
            self.chain_leads.handle(event)
        elif isinstance(event, LeadEvent):
            self.elastic.handle(event)
        else:
            self._lifecycle.handle(event)

    def _hear_search(self, event: ScheduleImproved | SearchAwaited) -> None:
        if isinstance(event, SearchAwaited):
            self._staging.await_search(event.time)
            return
        self._adoption.consider(event)
        if event.settled:
            self._staging.search_answered(event.time)
            self._chains.improve(event.time)

    def _load(self, snapshot: CoreSnapshot) -> None:
        self._state.load(snapshot.tasks, snapshot.attempts)
        self.domain.load(snapshot.hosts, snapshot.claimed, snapshot.loads)
        for reservation in snapshot.reservations:
            self.reservations.put(reservation)
        self._queue.load(snapshot.queue, self.tasks)
        self._lifecycle.load(snapshot.manager)
        self._corrections.load(snapshot.corrections, snapshot.latency, snapshot.contentions)
        self._state.occupancy.load(snapshot.occupancy)
        self._forwarding.load(snapshot.neighbours)
        self._looks.last = snapshot.dispatched_at
        self._adoption.load(snapshot.last_search, snapshot.last_improvement)
        self._note_number(snapshot.last_number, *(task.number for task in snapshot.tasks))
        self._state.shares.load(snapshot.shares)
        self.elastic.load(snapshot.elastic)
        self._staging.load(snapshot.staging)
        self._trigger.load(snapshot.overruns)
        self._chains.looked_at = snapshot.looked_at

    def _restore(self, event: Restored) -> None:
        """Begin anew with the records, and find out what became of each attempt meanwhile."""
        saved, tree = event.state, self._state.shares.tree
        self._begin()
        self._state.begin(event.time)
        self._state.shares.load(SharesSnapshot(tree, saved.usage))
        self._state.load(saved.tasks, saved.attempts)
        self._note_number(saved.last_number, *(task.number for task in saved.tasks))
        for reservation in saved.reservations:
            self.reservations.put(reservation)
        for task in saved.completed:
            self._corrections.learn_run_time(task)
        in_order = sorted(self.tasks.values(), key=lambda task: task.number)
        waiting = [task for task in in_order if task.status.state is TaskState.QUEUED]
        # Others without an attempt are with another domain.
        self._queue.add_all(
            task
            for task in waiting
            if self.attempt_of(task.id) is None
            and not task.status.held_by
            and not (task.stage is not None and task.stage.unused)
        )
        if saved.plan is not None:
            self._queue.adopt(saved.plan)
        self._lifecycle.ends.distrusted = {task.id for task in in_order if task.number <= saved.forgotten}
        self._lifecycle.unstarted.restore(in_order)
        self._lifecycle.find_all(event.time)

    def _accept(self, task: Task, time: float) -> None:
        self._note_number(task.number)
        if task.id not in self.tasks:
            task = self._claims.claim(task, time)
            self._state.put(task)
            self._state.replan()
            if task.stage is not None:
                self._chains.accept(task, time)
            else:
                self._queue.add(task)
                self._chains.protect(task.id, time)

    def with_granted_claim(self, task: Task, time: float) -> Task:
        """Return a new task with the claim that its deadline would have; nothing is changed."""
        return self._claims.foreseen(task, time)

    def _note_number(self, *numbers: int) -> None:
        self._last_number = max(self._last_number, *numbers)

    def _observe(self, event: HostsObserved) -> None:
        loads = self.domain.loads
        departs = bool(self.domain.hosts) and event.loads != loads  # else a former process has reckoned with them
        expected = self._trigger.expected(event.time) if departs else None
        if self.domain.observe(event.hosts, event.time, event.loads):
            self._state.occupancy.observe(event.time)
            self._state.replan()
            self._chains.repair(event.time)
            self._chains.improve(event.time)
        if self.domain.up():
            self._staging.hosts_came(event.time)
        if departs:
            reckon_with_loads(self._state, loads, self.settings.interruption, event.time)
            self.elastic.work.reckon_with_loads(loads, event.time)
            self.planning_view.forget()
            if expected is not None:
                self._trigger.say_loads(loads, expected, event.time)
        self._lifecycle.cancels.recall(event.time)

    def _reserve(self, event: HostsReserved | ReservationReleased) -> None:
        self.reservations.forget(event.time)
        if isinstance(event, HostsReserved):
            reservation = event.reservation
            if reservation.id not in self.reservations and not reservation.over(event.time):
                self.reservations.put(reservation)
                self._state.put_reservation(reservation)
        elif (known := self.reservations.pop(event.reservation)) is not None:
            self._state.put_reservation(replace(known, released=event.time))

    def _divide(self, event: HostsReserved | ReservationReleased | SharesChanged) -> None:
        """Divide the domain anew between reservations and users."""
        if not isinstance(event, SharesChanged):
            self._reserve(event)
        elif event.shares != self._state.shares.tree:
            self._state.shares.tree = event.shares
            self._state.replan()

    def _dispatch(self, time: float) -> None:
        """Start the tasks whose turn has come, and lend idle hosts."""
        self._planned_starts.order_by_priority(time)
        self._limits.count_hosts()
        self._dispatcher.start_unmodelled(time)
        lent = self.elastic.lent_hosts() if self._state.elastic else {}
        starts, planned = self._planned_starts.now(lent, time)
        for each in starts:
            if (task := self._dispatcher.start(each, time)) is not None:
                self._chains.left(task)
        if self._state.elastic:
            self.elastic.start_workers(time)
            self.elastic.follow_plan(planned, partial(self._planned_starts.ready, time=time), time)
