"""The task service answers requests about tasks, hosts, plan and reservations of a domain.

Changes go to the engine; what has happened is read from the store. Start at `TaskService.submit`.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.api.documents import Effect, Forecast, Status, TaskPage
from cosched.api.problems import ConflictError, NotFoundError, QuotaError
from cosched.app import reservations
from cosched.app.core_access import CoreClient
from cosched.app.event_feed import EventFeed, feed_events
from cosched.app.forwarding_status import forwarding_obstacle
from cosched.app.interface import Published
from cosched.app.neighbour_access import NoNeighbours
from cosched.app.validation import DomainState, check_predecessors, offered_notice
from cosched.app.views import (
    ended_explanation,
    explanation_view,
    host_views,
    listed_view,
    plan_view,
    profile_view,
    task_detail,
    task_view,
)
from cosched.coscheduler.events import (
    CancelRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    ReservationReleased,
)
from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.what_if import predict_placement
from cosched.errors import UserError
from cosched.store.store import KeyedSubmission, TaskSelection
from cosched.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import (
        ExplanationView,
        HostView,
        NetworkView,
        PeerView,
        PlanView,
        ReservationRequest,
        ReservationView,
        TaskDetail,
        TaskRequest,
        TaskView,
    )
    from cosched.app.core_access import CoreAccess
    from cosched.app.neighbour_access import NeighbourAccess
    from cosched.app.outputs import TaskOutputs
    from cosched.app.validation import TaskValidator
    from cosched.connector.interface import Output
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task
    from cosched.store.store import Store

__all__ = ["TaskService"]

_LOG_LINES = 200


class TaskService:
    """Implements `cosched.app.interface.DomainService`.

    Attributes:
        feed: what happens; followers of the event stream listen to it.
    """

    def __init__(
        self,
        core: CoreAccess,
        store: Store,
        intake: TaskValidator,
        *,
        domain: str,
        connector: str,
        policy: str,
        faults: Callable[[], Sequence[str]],
        outputs: TaskOutputs,
        waiting: int,
        calls: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """Set up.

        Args:
            core: of the domain.
            store: what has happened.
            intake: makes tasks of requests.
            domain: name of the domain.
            connector: name of the connector.
            policy: name of the planning policy.
            faults: says what does not work, in sentences.
            calls: says how often the resource manager was asked, by what.
            outputs: what tasks wrote.
            waiting: how many tasks of one user may wait or run; operators may have more.
        """
        self.feed = EventFeed()
        self._core = CoreClient(core)
        core.subscribe(self._changed)
        self._known_domain: DomainState | None = None
        self._changes = 0
        self._store = store
        self._intake = intake
        self._names = (domain, connector, policy)
        self._faults = faults
        self._calls = calls
        self._outputs = outputs
        self._waiting = waiting
        self.neighbours: NeighbourAccess = NoNeighbours()
        self._keys = threading.Lock()
        self._pending: dict[tuple[str, str], tuple[str, Future[tuple[Task, ...]]]] = {}

    def submit(self, asker: Principal, requests: Sequence[TaskRequest], key: str, digest: str) -> list[TaskView]:
        """Accept all tasks or none; see `Service`."""
        submission = KeyedSubmission(key, digest, (), 0.0, asker.name) if key else None
        known = self._known(submission)
        if known is None:
            self._check_quota(asker, len(requests))
            tasks = self._make(asker, requests, self._domain())
            known = self._core.accept(tasks) if submission is None else self._accept_once(tasks, submission)
        accepted, state = self._core.wait(known), self._domain()
        return [
            replace(task_view(task), notice=offered_notice(task, replace(state, time=task.submitted)))
            for task in accepted
        ]

    def foresee(self, asker: Principal, requests: Sequence[TaskRequest]) -> list[Forecast]:
        """Say what submitting would lead to; see `Service`."""
        state = self._domain()
        return [self._forecast(task, state) for task in self._make(asker, requests, state)]

    def tasks(self, asker: Principal, selection: TaskSelection, limit: int, offset: int) -> TaskPage:
        """Return part of the list; see `Service`."""
        if not asker.oversees:
            if selection.owner not in (None, asker.name):
                return TaskPage(tasks=(), total=0, limit=limit, offset=offset)
            selection = replace(selection, owner=asker.name)
        total = sum(self._store.counts(selection).values())
        found = self._store.listed(selection, limit, offset)
        return TaskPage(tasks=tuple(map(listed_view, found)), total=total, limit=limit, offset=offset)

    def task(self, asker: Principal, task_id: str) -> TaskDetail:
        """Return all that is known of a task; see `Service`."""
        found = self._store.history(task_id, _LOG_LINES)
        if found is None or not asker.may_see(found.task.owner):
            raise _no_such_task(task_id)
        return task_detail(found.task, found.attempts, found.log, found.handovers)

    def output(
        self, asker: Principal, task_id: str, stream: str, rank: int, attempt: int, offset: int, limit: int
    ) -> Output | None:
        """Return part of what a process of a task wrote; see `Service`."""
        self._find(asker, task_id)
        return self._outputs.read(task_id, stream, rank, attempt, offset, limit)

    def explain(self, asker: Principal, task_id: str) -> ExplanationView:
        """Say why a task is where it is; see `Service`."""
        task = self._find(asker, task_id)

        def question(core: Coscheduler, time: float) -> ExplanationView | None:
            found = self.neighbours.explain(core, task_id, time)
            return None if found is None else explanation_view(found, core)

        return self._core.ask(question) or ended_explanation(self._find(asker, task.id))

    def cancel(self, asker: Principal, task_id: str) -> TaskView:
        """Take the wish that a task does not run; see `Service`."""
        self._find(asker, task_id)
        self._core.apply(CancelRequested(self._core.now(), task_id))
        return task_view(self._find(asker, task_id))

    def hosts(self, asker: Principal) -> list[HostView]:
        """Return all hosts; see `Service`."""
        return self._core.ask(partial(host_views, asker))

    def reserve(self, asker: Principal, request: ReservationRequest) -> ReservationView:
        """Keep hosts for others; see `Service`."""
        reservations.require_administrator(asker)
        hosts, there = self._core.ask(lambda core, time: (set(core.domain.hosts), len(core.reservations.live(time))))
        now = self._core.now()
        reservation = reservations.new_reservation(request, asker.name, now, hosts, there)
        self._core.apply(HostsReserved(now, reservation))
        return self._reservation(asker, reservation.id)

    def reservations(self, asker: Principal) -> list[ReservationView]:
        """Return the reservations that are not over; see `Service`."""
        return self._core.ask(partial(reservations.reservation_views, asker))

    def release(self, asker: Principal, identifier: str) -> ReservationView:
        """Give a reservation up; see `Service`."""
        reservations.require_administrator(asker)
        known = self._reservation(asker, identifier)
        self._core.apply(ReservationReleased(self._core.now(), identifier))
        return known

    def _reservation(self, asker: Principal, identifier: str) -> ReservationView:
        return self._core.ask(lambda core, time: reservations.reservation_view(asker, core, time, identifier))

    def published(self, asker: Principal) -> Published:
        """Return what is told of the domain; see `Service`."""
        domain, connector, _ = self._names
        return Published(
            domain=domain,
            version=__version__,
            connector=connector,
            time=self._core.now(),
            hosts=tuple(self.hosts(asker)),
            tasks={str(state): count for state, count in self._store.counts(None).items()},
            applications=tuple((each.name, each.description) for each in self._intake.applications()),
            faults=tuple(self._faults()),
        )

    def plan(self, asker: Principal) -> PlanView:
        """Return the schedule in force; see `Service`."""
        return self._core.ask(partial(plan_view, asker))

    def status(self, asker: Principal) -> Status:
        """Return the daemon's state; see `Service`."""
        time, hosts = self._core.ask(lambda core, time: (time, list(core.domain.hosts.values())))
        up = sum(host.up for host in hosts)
        domain, connector, policy = self._names
        counts = self._store.counts(None if asker.oversees else TaskSelection(owner=asker.name))
        return Status(
            domain=domain,
            version=__version__,
            time=time,
            connector=connector,
            policy=policy,
            hosts_up=up,
            hosts_down=len(hosts) - up,
            tasks={str(state): count for state, count in counts.items()},
            faults=tuple(self._faults()),
            calls=dict(self._calls()),
        )

    def _changed(self, tasks: Collection[Task], events: Sequence[Event]) -> None:
        """Take note of what has been written down; called from the engine's thread."""
        if any(isinstance(event, (HostsObserved, JobReported)) for event in events):
            self._changes += 1  # hosts may have come and gone, or a run has taught something
            self._known_domain = None
        self.feed.publish(feed_events(tasks, events))

    def _domain(self) -> DomainState:
        """Return what tasks are measured against now; asked for again only when it may have changed."""
        known = self._known_domain
        if known is None:
            changes = self._changes
            known = self._core.ask(_domain_state)
            if changes == self._changes:  # else it may be from before the change
                self._known_domain = known
        return replace(known, time=self._core.now(), offers=self.neighbours.accepts_late)

    def _check_quota(self, asker: Principal, more: int) -> None:
        if asker.oversees:
            return
        live = self._core.ask(lambda core, _time: core.owned.get(asker.name, 0))
        if live + more > self._waiting:
            raise QuotaError(
                f"{live} tasks of yours wait or run, and {self._waiting} may: submit {more} more when some have ended"
            )

    def domain_state(self) -> DomainState:
        """Return what a task is measured against now; for the agent's threads."""
        return self._domain()

    def peers(self) -> list[PeerView]:
        """Return the neighbouring domains; see `Service`."""
        return self.neighbours.peers()

    def network(self) -> NetworkView | None:
        """Return what our agent has done and how it is advised; see `Service`."""
        return self.neighbours.network()

    def _make(self, asker: Principal, requests: Sequence[TaskRequest], state: DomainState) -> list[Task]:
        tasks = []
        for number, request in enumerate(requests, start=1):
            try:
                tasks.append(replace(self._intake.task(request, state), owner=asker.name))
            except UserError as error:
                if len(requests) == 1:
                    raise
                raise UserError(f"task {number} of {len(requests)}: {error}; none was accepted") from error
        check_predecessors(tasks, self._store.task, asker)
        return tasks

    def _known(self, wanted: KeyedSubmission | None) -> Future[tuple[Task, ...]] | None:
        """Return the answer to an earlier submission under this key, which may still be on its way to the disk."""
        if wanted is None:
            return None
        pending = self._pending.get((wanted.owner, wanted.key))
        if pending is not None:
            _check_same(wanted, pending[0])
            return pending[1]
        submission = self._store.by_key(wanted.key, wanted.owner)
        if submission is None:
            return None
        _check_same(wanted, submission.digest)
        answer: Future[tuple[Task, ...]] = Future()
        answer.set_result(tuple(task for name in submission.tasks if (task := self._store.task(name)) is not None))
        return answer

    def _accept_once(self, tasks: Sequence[Task], wanted: KeyedSubmission) -> Future[tuple[Task, ...]]:
        name = (wanted.owner, wanted.key)
        with self._keys:  # two at once: the second finds what the first has begun
            known = self._known(wanted)
            if known is not None:
                return known
            answer = self._core.accept(tasks, replace(wanted, created=tasks[0].submitted))
            self._pending[name] = (wanted.digest, answer)
        answer.add_done_callback(lambda _answer: self._pending.pop(name, None))
        return answer

    def _forecast(self, task: Task, state: DomainState) -> Forecast:
        profile = corrected_profile(task, state.corrections)
        spot = self._core.ask(lambda core, time: predict_placement(core, task, time))
        meets = None if spot is None or task.deadline is None else spot.end <= task.deadline
        offered = meets is False and state.offers and not forwarding_obstacle(task)
        return Forecast(
            application=task.application,
            name=task.name,
            profile=None if profile is None else profile_view(profile),
            planned_start=None if spot is None else spot.start,
            planned_end=None if spot is None else spot.end,
            planned_hosts=() if spot is None else spot.hosts,
            deadline=task.deadline,
            meets_deadline=meets,
            effect=None if spot is None else Effect(**asdict(spot.effect)),
            earliest_deadline=None if profile is None else state.time + profile.quickest.shortest,
            offered=offered,
        )

    def _find(self, asker: Principal, task_id: str) -> Task:
        """Return a task that the asker may see; another user's is as absent as one that never was."""
        task = self._store.task(task_id)
        if task is None or not asker.may_see(task.owner):
            raise _no_such_task(task_id)
        return task


def _no_such_task(task_id: str) -> NotFoundError:
    return NotFoundError(f"there is no task {task_id[:80]!r}: `cosched task list` shows what there is")


def _check_same(wanted: KeyedSubmission, before: str) -> None:
    if wanted.digest != before:
        raise ConflictError(f"the idempotency key {wanted.key!r} was used for another request: take a new key")


def _domain_state(core: Coscheduler, time: float) -> DomainState:
    classes = {host.host_class for host in core.domain.hosts.values()}
    known = tuple(sorted(classes)) if "" not in classes else ()
    return DomainState(time, len(core.domain.hosts), known, core.corrections())
