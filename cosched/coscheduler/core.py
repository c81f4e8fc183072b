"""The co-scheduler of one domain takes events and returns decisions. It is pure.

It has no clock, I/O, threads or randomness: the daemon, the simulator and the fault tests run this same code, and any
run can be replayed from its events.


    TaskSubmitted ─► queue ─► DispatchAttempt ─► AttemptSubmitted ─► JobReported(running) ─► JobReported(completed)
                       ▲             │ error, restart                            │ host lost: CancelAttempt
                       └─────────────┴─ AttemptAbsent ◄─ LocateAttempt ◄─────────┘

At most one attempt of a task is live at any time, and none is given up before the manager's word or a fence.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.attempts import AttemptLifecycle
from cosched.coscheduler.edits import edited, why_unchangeable
from cosched.coscheduler.elastic.elastic_tasks import ElasticTasks
from cosched.coscheduler.events import (
    AdoptedJobGone,
    AdoptedJobStarted,
    CancelRequested,
    EditRequested,
    Event,
    HoldRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    LeadAnnounced,
    NeighboursChanged,
    OfferEnded,
    PeerReported,
    PredictionPassed,
    ReleaseRequested,
    ReservationReleased,
    Restored,
    ScheduleImproved,
    SharesChanged,
    StartPermitted,
    TaskForwarded,
    TaskReturned,
    TaskSubmitted,
    Tick,
    WorkerDrained,
    WorkerRefused,
    WorkReported,
)
from cosched.coscheduler.forwarding import Forwarding
from cosched.coscheduler.places.departures import starts_on_shared_hosts
from cosched.coscheduler.places.licences import LicenceTimeline
from cosched.coscheduler.planning.dispatch import (
    ImmediateStart,
    RunTimeTable,
    first_on_idle_hosts,
    starts_in_order,
    starts_now,
)
from cosched.coscheduler.planning.planning_view import PlanningView
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.planning.task_queue import TaskQueue
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.coscheduler.reservations import without_distant_reservations
from cosched.coscheduler.sharing.array_limits import array_obstacle, array_room
from cosched.coscheduler.sharing.claims import claimed, given_back, granted_claim, needed_host_seconds
from cosched.coscheduler.sharing.fair_shares import SharesSnapshot
from cosched.coscheduler.sharing.host_limits import HostRoom
from cosched.coscheduler.sharing.shares import share_user
from cosched.coscheduler.stages.admission import admit, first_late, placed_ways, waiting_stages
from cosched.coscheduler.stages.chains import Chains
from cosched.coscheduler.state import CoreState
from cosched.coscheduler.task import TaskState
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.objective.comparison import PlanFigures, describe_difference
from cosched.scheduling.objective.objective import measure_plan, objective
from cosched.scheduling.policies import ImmediatePolicy, PolicyName, UserCountPolicy, find_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.events import LeadEvent, ManagerEvent
    from cosched.coscheduler.places.licences import LicenceUse
    from cosched.coscheduler.sharing.fair_shares import FairShares
    from cosched.coscheduler.stages.admission import Admission
    from cosched.coscheduler.stages.trial_plan import PlacedWay
    from cosched.coscheduler.submit_limits import OwnerLimit
    from cosched.coscheduler.task import Attempt, Task
    from cosched.coscheduler.unstarted import UnstartedAttempts
    from cosched.prediction.calibration import Correction
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["Coscheduler"]

# Tasks without a profile that are handed to the manager at once: enough for batches, few enough that a planned task
# does not wait long behind them while its hosts stay idle.
_MOST_UNMODELLED = 200
_ARRIVAL_WINDOW = 0.25  # seconds during which tasks that arrive are looked at together


class Coscheduler:
    """State of a domain and what to do next.

    Attributes:
        settings: the administrator's settings.
        domain: the hosts.
        reservations: hosts that are kept for others.
        planning_view: the waiting tasks as a problem, and their planned places.
        last_search: the last answer of the search; None before the first.
        last_improvement: when an answer last made the plan better, epoch seconds, and what became better.
    """

    def __init__(self, settings: CoreSettings) -> None:
        self.settings = settings
        self._policy = find_policy(settings.policy)
        self._begin()

    def _begin(self) -> None:
        """Begin anew: nothing is known."""
        settings = self.settings
        self.last_search: ScheduleImproved | None = None
        self.last_improvement: tuple[float, str] | None = None
        self._neighbours = NeighboursChanged(-math.inf, available=False)
        self._dispatched_at = -math.inf
        self._last_number = 0
        self._state = CoreState(share_hosts=settings.share_hosts, licences=settings.licences)
        self._room = self.host_room()
        self.domain, self.reservations = self._state.hosts, self._state.reservations
        self._queue = TaskQueue(
            settings.staging,
            lambda task, time: (
                bool(self.predecessors(task))
                or self.owner_is_limited(task, time)
                or self._lacks_room(task)
                or not self._state.licences.suffice(self.tasks[task])
            ),
            by_deadline=self._policy.searched,
        )
        self._corrections = self._state.corrections
        self._lifecycle = AttemptLifecycle(settings, self._state, self._queue)
        self._forwarding = Forwarding(settings, self._state, self._queue, self._lifecycle)
        self.planning_view = PlanningView(settings, self._state, self._queue, self._lifecycle)
        self.elastic = ElasticTasks(settings, self._state, self._queue, self._lifecycle, self.planning_view)
        self._chains = Chains(
            self._state, self._queue, self.planning_view, self._lifecycle, guarantees=self._policy.searched
        )

    def handle(self, event: Event) -> Outcome:
        """Take one event and return what to write down and what to do.

        Events may come late, twice or in the wrong order; what no longer matters is ignored.
        """
        self._state.begin(event.time)
        self.planning_view.forget()
        self._take(event)
        if self._state.elastic:
            self.elastic.tend(event.time)
        if self._state.chained:
            self._chains.end_unused(event.time)
            if isinstance(event, JobReported):
                self._chains.repair(event.time)
        if event.time >= self._lifecycle.paused_until and not self._may_wait(event):
            self._dispatch(event.time)
            self._dispatched_at = event.time
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
            neighbours=self._neighbours,
            dispatched_at=self._dispatched_at,
            last_search=self.last_search,
            last_improvement=self.last_improvement,
            last_number=self._last_number,
            shares=self._state.shares.snapshot(),
            elastic=self.elastic.snapshot(),
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
        return HostRoom(self._state.shares.tree, self.attempts.values(), self.tasks)

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
        return self._lifecycle.room(self.tasks[task].owner, time) < 1

    def owner_limit(self, task: str) -> OwnerLimit | None:
        """Return the known limit of the task's owner, None without a sign of any."""
        return self._lifecycle.limits.by_owner.get(self.tasks[task].owner)

    @property
    def licences(self) -> LicenceUse:
        """The domain's licences and what is in use of them; to be read."""
        return self._state.licences

    @property
    def licensed(self) -> Iterable[str]:
        """Live tasks that ask for licences, in order of arrival."""
        return self._state.licensed

    def array_is_full(self, task: str) -> bool:
        """Return whether as many tasks of a live task's array run as may."""
        return array_room(self.tasks[task], self._state.live_by_array) < 1

    def array_obstacle(self, task: str) -> str:
        """Say that as many tasks of a live task's array run as may; empty where not."""
        return array_obstacle(self.tasks[task], self._state.live_by_array)

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

    def first_late_chain(self, chains: Sequence[Sequence[Task]], time: float) -> int | None:
        """Return the place of the first of several new chains that is late behind the others; None where none is."""
        return first_late(self.planning_view, self._state, chains, time)

    def ways(self, chain: Sequence[Task], time: float) -> list[PlacedWay]:
        """Return where the ways of a chain that are still open would run, each by itself, the best first.

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
                self._fulfil(event)
            case HostsObserved():
                self._observe(event)
            case HostsReserved() | ReservationReleased() | SharesChanged():
                self._divide(event)
            case ScheduleImproved():
                self._improve(event)
            case NeighboursChanged():
                self._neighbours = event
            case Tick():
                self._lifecycle.ask_again(event.time)
                self._lifecycle.unstarted.ask(event.time)
            case TaskForwarded() | TaskReturned() | PeerReported() | StartPermitted() | OfferEnded():
                self._forwarding.handle(event)
            case _:
                self._hear(event)

    def _hear(self, event: ManagerEvent | LeadEvent) -> None:
        """Take the word of the manager about an attempt, or that of a lead."""
        if isinstance(event, LeadAnnounced | WorkerDrained | WorkerRefused | WorkReported):
            self.elastic.handle(event)
        else:
            self._lifecycle.handle(event)

    def _load(self, snapshot: CoreSnapshot) -> None:
        self._state.load(snapshot.tasks, snapshot.attempts)
        self.domain.load(snapshot.hosts, snapshot.claimed)
        for reservation in snapshot.reservations:
            self.reservations.put(reservation)
        self._queue.load(snapshot.queue, self.tasks)
        self._lifecycle.load(snapshot.manager)
        self._corrections.load(snapshot.corrections, snapshot.latency)
        self._neighbours, self._dispatched_at = snapshot.neighbours, snapshot.dispatched_at
        self.last_search, self.last_improvement = snapshot.last_search, snapshot.last_improvement
        self._note_number(snapshot.last_number, *(task.number for task in snapshot.tasks))
        self._state.shares.load(snapshot.shares)
        self.elastic.load(snapshot.elastic)

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
        self._lifecycle.distrust(task.id for task in in_order if task.number <= saved.forgotten)
        self._lifecycle.unstarted.restore(in_order)
        self._lifecycle.find_all(event.time)

    def _accept(self, task: Task, time: float) -> None:
        self._note_number(task.number)
        if task.id not in self.tasks:
            task = self._claim(task, time)
            self._state.put(task)
            self._state.replan()
            if task.stage is not None:
                self._chains.accept(task, time)
            else:
                self._queue.add(task)
                self._chains.protect(task.id, time)

    def with_granted_claim(self, task: Task, time: float) -> Task:
        """Return a new task with the claim that its deadline would have; nothing is changed."""
        host_seconds = self._claimable(task, time)
        if host_seconds is None:
            return task
        return task.with_status(claim=granted_claim(self._state.shares, task, host_seconds, time))

    def _claim(self, task: Task, time: float) -> Task:
        """Return a task with its deadline's claim, where shares are in force."""
        host_seconds = self._claimable(task, time)
        if host_seconds is None:
            return task
        task, usage = claimed(self._state.shares, task, host_seconds, time)
        self._state.put_usage(usage)
        return task

    def _claimable(self, task: Task, time: float) -> float | None:
        """Return the host-seconds that a task needs for its deadline; None where it claims nothing."""
        profile = task.profile
        if self._state.shares.tree is None or profile is None or task.spec.deadline is None:
            return None
        up, class_of, needed = self.domain.up(), self.domain.classes(), list[float]()
        classes = sorted({class_of[host] for host in up})
        assumptions, left = self.planning_view.assumptions(time), task.spec.deadline - time
        for shape in task.shapes():
            assert shape.profile is not None
            # Where no host is up, as it was predicted.
            seconds = run_times(shape, assumptions, classes, len(up)) if up else np.array([shape.profile.seconds])
            needed.append(needed_host_seconds(seconds, left) * self.domain.part(self.domain.share_of(shape.spec)))
        return min([each for each in needed if each], default=0.0)

    def _note_number(self, *numbers: int) -> None:
        self._last_number = max(self._last_number, *numbers)

    def _fulfil(
        self,
        event: CancelRequested | EditRequested | HoldRequested | ReleaseRequested | AdoptedJobGone | AdoptedJobStarted,
    ) -> None:
        """Cancel a live task, or change one that waits."""
        task = self.tasks.get(event.task)
        if task is None:
            return
        if isinstance(event, AdoptedJobGone | AdoptedJobStarted):
            self._follow(task, event)
        elif isinstance(event, CancelRequested) and task.stage is not None:
            self._chains.cancel(task, event.reason, event.time)
        elif isinstance(event, CancelRequested):
            self._lifecycle.cancel(task, event.reason, event.time)
        elif not why_unchangeable(task):
            self._change(task, event)

    def _change(self, task: Task, event: EditRequested | HoldRequested | ReleaseRequested) -> None:
        match event:
            case EditRequested():
                changed = edited(task, event.edit)
                if (changed.spec.deadline, changed.profile) != (task.spec.deadline, task.profile):
                    self._state.put_usage(given_back(self._state.shares, task, event.time))
                    changed = self._claim(changed.with_status(claim=None), event.time)
            case HoldRequested():
                changed = task.with_status(held_by=event.by)
            case ReleaseRequested():
                changed = task.with_status(held_by="")
        if changed != task:
            self._state.put(changed)
            self._queue.change(task, changed)
            self._chains.protect(task.id, event.time)
            self._state.replan()

    def _follow(self, task: Task, event: AdoptedJobGone | AdoptedJobStarted) -> None:
        """End a waiting task with its user's own job, or follow where that runs."""
        if task.status.state is not TaskState.QUEUED or self.attempt_of(task.id) is not None:
            return
        if isinstance(event, AdoptedJobGone):
            self._lifecycle.cancel(task, "its job left the resource manager's queue without cosched", event.time)
        else:
            self._lifecycle.start(task.with_status(held_by=""), (), None, event.time)
            self._state.replan()

    def _may_wait(self, event: Event) -> bool:
        """Return whether nothing can leave by this event; the plan is not decoded then.

        Decoding it for each of a thousand tasks that arrive together takes long: a task that is still to be searched
        for leaves no sooner by a look shortly after the last one. A job that goes on frees nothing.
        """
        if not isinstance(event, TaskSubmitted):
            return isinstance(event, NeighboursChanged | PredictionPassed | Restored)
        if not self._policy.searched or event.time >= self._dispatched_at + _ARRIVAL_WINDOW:
            return False
        return event.task.id in self._queue.planned and not self._queue.staged(event.task, event.time)

    def _observe(self, event: HostsObserved) -> None:
        if self.domain.observe(event.hosts, event.time):
            self._state.replan()
            self._chains.repair(event.time)
        self._lifecycle.recall(event.time)

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

    def _improve(self, event: ScheduleImproved) -> None:
        """Take a plan over unless the current one has become better meanwhile."""
        problem = self.planning_view.problem(event.time)
        if problem is None:
            return
        wanted = self.plan.replanned(event.plan)
        if wanted != self.plan:  # else the search only says that it goes on
            self._compare(problem, wanted.for_problem(problem), event.time)
        if event.settled:
            self._queue.searched(event.plan.tasks)
        self.last_search = event

    def _compare(self, problem: Problem, proposed: Plan, time: float) -> None:
        current = self.planning_view.arranged(problem, self.plan.for_problem(problem), time)
        proposed = self.planning_view.arranged(problem, proposed, time)
        problem = without_distant_reservations(problem, current, proposed)
        if not self._chains.keeps_guarantees(problem, current, proposed, time):
            return
        before, after = (measure_plan(problem, plan) for plan in (current, proposed))
        bound, weights = lower_bound(problem), self.settings.weights
        # For comparison, Titan's own search is followed wherever it leads: what is here may be better than it would do.
        classic = self.settings.policy == PolicyName.TITAN_CLASSIC
        if classic or objective(after, weights, bound) <= objective(before, weights, bound):
            self._queue.adopt(TaskPlan.of(problem, proposed))
            why = describe_difference(PlanFigures.of(before), PlanFigures.of(after))
            self.last_improvement = (time, why) if why else self.last_improvement

    def _dispatch(self, time: float) -> None:
        if self._state.prioritised and not isinstance(self._policy, ImmediatePolicy):
            self._queue.adopt(self.planning_view.by_priority(time))
        self._room = self.host_room()
        while self._pass_through(time):
            pass
        departures, planned = self._departures(time)
        for departure in departures:
            hosts = [self.domain.hosts[host] for host in departure.hosts]
            task = self.tasks[departure.task].shaped(departure.cores, hosts)
            user, count = share_user(task), self._charged(task, len(hosts))
            shut = self.owner_is_limited(departure.task, time) or self._room.left(user) < count
            shut = shut or self.array_is_full(departure.task) or not self._state.licences.suffice(task)
            if not shut and not self._stays(departure, time):
                self._room.take(user, count)
                seconds = departure.seconds - self._corrections.dispatch_latency.seconds
                task = task.on(host.host_class for host in hosts)
                self._lifecycle.start(task, departure.hosts, seconds, time)
                self._chains.left(task)
                self._state.replan()
        if self._state.elastic:
            self.elastic.start_workers(time)
            self.elastic.follow_plan(planned, partial(self._ready, time=time), time)

    def _pass_through(self, time: float) -> bool:
        """Have tasks without a profile leave; return whether some with licences did, which others have waited for."""
        licences, more = self._state.licences, False
        licences.keep(self._unmodelled_licensed(time))
        for name in self._queue.unmodelled(time, self._free_unmodelled()):
            task = self.tasks[name]
            short = self._lacks_room(name) or not licences.suffice(task)
            if not self.owner_is_limited(name, time) and not short:
                self._room.take(share_user(task), self._charged(task, task.spec.count))
                self._lifecycle.start(task, (), None, time)
                more = more or bool(task.spec.licences)
        return more

    def _unmodelled_licensed(self, time: float) -> list[Task]:
        """Return the waiting tasks without a profile that ask for licences, and wait for nothing else."""
        waiting = [self.tasks[name] for name in self._state.licensed if self._queue.is_unmodelled(name, time)]
        return [
            task
            for task in waiting
            if not self.predecessors(task.id)
            and not self.owner_is_limited(task.id, time)
            and not self._lacks_room(task.id)
            and not self._state.licences.beyond(task.spec)
        ]

    def _lacks_room(self, name: str) -> bool:
        """Return whether a waiting task's user or group has too many hosts for it now."""
        task = self.tasks[name].shaped(self._queue.planned_cores(name), ())
        count = task.spec.count if task.profile is None else max(self._queue.planned_count(name), 1)
        user, charged = share_user(task), self._charged(task, count)
        return self.array_is_full(name) or min(charged, self._room.most(user)) > self._room.left(user)

    def _charged(self, task: Task, hosts: int) -> float:
        """Return how many hosts a task is charged for on so many, parts of which it may share."""
        return hosts * self.domain.part(self.domain.share_of(task.spec))

    def _stays(self, departure: ImmediateStart, time: float) -> bool:
        """Return whether another domain must be asked before this task leaves, and ask it."""
        task = self.tasks[departure.task]
        end = time + departure.seconds
        early = self._neighbours.offer_on_time and not task.origin
        asked = not task.stays and task.spec.deadline is not None and (end > task.spec.deadline or early)
        if self._neighbours.available and asked and self._forwarding.ask_peers(task.id, end, time):
            return True
        if task.status.held:
            self._forwarding.ask_start(task.id, time)
        return task.status.held

    def _free_unmodelled(self) -> int:
        """Return how many more tasks without a profile may be submitted at the same time."""
        return max(_MOST_UNMODELLED - len(self._state.unmodelled_submitting), 0)

    def _departures(self, time: float) -> tuple[list[ImmediateStart], Sequence[Assignment] | None]:
        """Return the tasks that leave now, and the plan's next ones; None where no hosts are to be lent beside it."""
        if not self._queue.planned:
            return [], ()
        taken = self.planning_view.taken(time)
        idle = [host for host in self.domain.up() if host not in taken]
        if self.domain.shared and idle:
            idle = list(set(idle) - self.domain.full(self.attempts.values()))
        lent = self.elastic.lent_hosts() if self._state.elastic else []
        problem = self.planning_view.problem(time) if idle or lent else None
        if problem is None:
            return [], ()
        if problem.packing is not None:
            plan = self.planning_view.plan(problem, time)
            return starts_on_shared_hosts(problem, problem.packing, plan, partial(self._ready, time=time)), None
        speeds, kept = RunTimeTable.of(problem), self.reservations.needed(time)
        if isinstance(self._policy, UserCountPolicy):
            may_leave = partial(self._queue.may_leave, time=time)
            return starts_in_order(self._arrivals(problem, self._policy, time), idle, may_leave, speeds, kept), None
        plan = self.planning_view.plan(problem, time)
        first, behind = first_on_idle_hosts(without_distant_reservations(problem, plan), plan, idle + lent)
        ready, licences = partial(self._ready, time=time), LicenceTimeline.of(problem)
        return starts_now(first, idle, ready, speeds, kept, behind, licences), first

    def _ready(self, task: str, time: float) -> bool:
        searched = not self._policy.searched or self._queue.staged(self.tasks[task], time)
        return searched and self._queue.may_leave(task, time)

    def _arrivals(self, problem: Problem, policy: UserCountPolicy, time: float) -> list[tuple[str, int]]:
        """Return the queue of a first-come-first-served policy; a host count is chosen once and kept.

        Only who may leave is in it, else it would block the queue: who comes after others arrives with the end of the
        last of them. Each user's tasks are in order of priority and arrival, users take turns by their shares.
        """
        counts, arrived = dict(zip(self.plan.tasks, self.plan.counts, strict=True)), []
        best, live = best_seconds(problem), self._state.live_by_array.copy()
        for place, name in enumerate(problem.tasks):  # the queue's order
            if not self._queue.may_leave(name, time) or array_room(self.tasks[name], live) < 1:
                continue
            live[self.tasks[name].spec.array] += 1
            row = best[place]
            if not 1 <= counts[name] <= len(row):
                counts[name] = policy.host_count(row, f"{self.settings.seed}/{self.tasks[name].number}")
            arrived.append(place)
        self._queue.adopt(self.plan.with_counts(counts))
        in_turn = self.planning_view.in_turn(problem, arrived, time)
        return [(problem.tasks[place], counts[problem.tasks[place]]) for place in in_turn]
