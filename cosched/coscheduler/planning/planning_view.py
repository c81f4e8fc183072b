"""The planning view shows the waiting tasks as a problem and where they are planned.

Start at `PlanningView`, which changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.places.hosts import expected_end, predicted_end
from cosched.coscheduler.places.licences import with_licences
from cosched.coscheduler.places.packing import Choice, place_requests, planned_hosts, with_held, with_packing
from cosched.coscheduler.planning.dependencies import expected_completion, with_dependencies
from cosched.coscheduler.planning.known_requests import KnownRequests
from cosched.coscheduler.planning.problem_builder import PlanningAssumptions
from cosched.coscheduler.reservations import with_reservations, without_distant_reservations
from cosched.coscheduler.sharing.array_limits import with_array_limits
from cosched.coscheduler.sharing.fair_shares import fair_plan, with_turns, with_weights
from cosched.coscheduler.sharing.host_limits import HostRoom, fewest_charged
from cosched.coscheduler.sharing.priorities import priority_plan, with_priorities
from cosched.coscheduler.sharing.shares import share_user
from cosched.coscheduler.stages.guarantees import broken_guarantees, places_behind_guarantees
from cosched.coscheduler.stages.way_genes import with_ways
from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.plan import Plan
from cosched.scheduling.policies import ImmediatePolicy, PolicyName, find_policy
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.prediction.loads.host_load import HostLoad
    from cosched.scheduling.schedule import Schedule

__all__ = ["PlanningView"]


def _waits(problem: Problem, tasks: Mapping[str, Task], now: float) -> NDArray[np.float64]:
    """Return the seconds since each task could have begun, as its user asked; below 0 where that is to come."""
    specs = [tasks[name] for name in problem.tasks]
    return np.array([now - max(task.submitted, task.spec.begin or task.submitted) for task in specs])


class PlanningView:
    """Shows the core's tasks, hosts and plan as a problem; remembers only the last forecast."""

    def __init__(self, settings: CoreSettings, state: CoreState, queue: TaskQueue, lifecycle: AttemptLifecycle) -> None:
        self._settings = settings
        self._policy = find_policy(settings.policy)
        self._state = state
        self._queue = queue
        self._domain = state.hosts
        self._reservations = state.reservations
        self._corrections = state.corrections
        self._lifecycle = lifecycle
        self._requests = KnownRequests(state, queue)
        self._forecast: tuple[float, tuple[Problem, Schedule] | None] | None = None  # since the last event

    def forget(self) -> None:
        """Remember no forecast: an event changes things."""
        self._forecast = None

    def expected_end(self, task: str, time: float) -> float | None:
        """Return the expected completion of a task that does not wait, epoch seconds, or None.

        None means that it is unknown.
        """
        return expected_completion(self._state.attempt_of(task), time, self._corrections.dispatch_latency.seconds)

    def taken(self, time: float) -> dict[str, float]:
        """Return when each occupied or reserved host is expected to be free, epoch seconds."""
        busy = self.busy(time)
        return busy | {host: max(end, busy.get(host, end)) for host, end in self._reservations.kept(time).items()}

    def busy(self, time: float) -> dict[str, float]:
        """Return when each busy host is expected to be free, epoch seconds."""
        own = self._domain.occupied(self._state.attempts.values(), time, self._corrections.dispatch_latency.seconds)
        return {**self._domain.claims(time), **self._lifecycle.unstarted.set_aside(time), **own}

    def shut(self, time: float) -> set[str]:
        """Return the hosts that get nothing now: they are set aside, or reserved."""
        return {*self._lifecycle.unstarted.set_aside(time), *self._reservations.kept(time)}

    def assumptions(self, time: float, *, by_kind: bool = False) -> PlanningAssumptions:
        """Return what a plan at a time must reckon with beside the tasks' profiles."""
        learnt, settings, domain = self._corrections, self._settings, self._domain
        avoided = self._lifecycle.unstarted.avoided()
        kinds, of_kind = self._told_kinds(avoided, by_kind=by_kind)
        return PlanningAssumptions(
            dict(learnt.corrections),
            settings.quantile,
            learnt.dispatch_latency.seconds,
            settings.margin,
            self._held_back(time),
            of_kind,
            domain.memory_per_core,
            _loads_by_kind({name: load for name, load in domain.loads.items() if name in kinds}, kinds),
            settings.interruption,
            learnt.contention,
            {task: frozenset(kinds[host] for host in hosts if host in kinds) for task, hosts in avoided.items()},
        )

    def classes(self, *, by_kind: bool = False) -> Mapping[str, str]:
        """Return what problems call the class of each host: its kind, where that matters."""
        return self._told_kinds(self._lifecycle.unstarted.avoided(), by_kind=by_kind)[0]

    def _told_kinds(
        self, avoided: Mapping[str, Collection[str]], *, by_kind: bool
    ) -> tuple[Mapping[str, str], Mapping[str, Host]]:
        """Return what problems call the class of each host, and a host of each kind.

        There are only classes where no task says what hosts it may have, none avoids any, and all are dedicated.

        Args:
            avoided: hosts that waiting tasks avoid, by task.
            by_kind: a task that is not there yet says what hosts it may have.
        """
        domain = self._domain
        if not (by_kind or self._state.demanding or domain.loads or avoided):
            return domain.classes(), {}
        tasks: dict[str, list[str]] = {}  # host → those that avoid it
        for task, hosts in avoided.items():
            for host in hosts:
                tasks.setdefault(host, []).append(task)
        return domain.kinds({host: f"not for {','.join(each)}" for host, each in tasks.items()})

    def snapshot(self, time: float) -> tuple[Problem, Plan] | None:
        """Return the problem of the waiting tasks and their current plan; None where none waits.

        The problem's origin is `time`. Under a baseline policy there is nothing to search.
        """
        if not self._policy.searched:
            return None
        problem = self.problem(time)
        if problem is None:
            return None
        plan = self.plan(problem, time)
        if self._state.shares.tree is not None:
            problem = with_turns(problem, plan, self._state.tasks)
        return self.with_ways(without_distant_reservations(problem, plan), time), plan

    def with_ways(self, problem: Problem, time: float) -> Problem:
        """Return a problem of what waits in which the search may choose the ways of chains."""
        if not self._state.chained or self._settings.policy == PolicyName.TITAN_CLASSIC:
            return problem
        return with_ways(problem, self._state, self.assumptions(time), time)

    def forecast(self, time: float, *, by_kind: bool = False) -> tuple[Problem, Schedule] | None:
        """Return the problem and planned schedule of the waiting tasks; None where none waits.

        Times are seconds from `time`. The answer is kept until the next event, as an agent asks many times for one
        instant.

        Args:
            time: now, epoch seconds.
            by_kind: tell hosts apart by what they have, too, for a task that is not there yet.
        """
        if by_kind and not self._state.demanding:
            return self._decoded(self.problem(time, by_kind=True), time)
        if self._forecast is None or self._forecast[0] != time:
            self._forecast = (time, self._decoded(self.problem(time), time))
        return self._forecast[1]

    def unreserved(self, time: float) -> tuple[Problem, Schedule] | None:
        """Return what `forecast` would if no hosts were reserved."""
        return self._decoded(self.problem(time, reserved=False), time)

    def spans(self, time: float) -> list[tuple[str, float, float, int]] | None:
        """Return what `forecast` does but for the hosts' names, several times quicker.

        Returns:
            Each waiting task with its start, its end and its number of hosts, in planned order.
        """
        planned = self.planned(time)
        if planned is None:
            return None
        problem, plan = planned
        starts, ends = spans(problem, plan)
        counts = planned_hosts(problem, plan).tolist()
        return [(problem.tasks[task], starts[task], ends[task], counts[task]) for task in plan.order.tolist()]

    def planned(self, time: float) -> tuple[Problem, Plan] | None:
        """Return the problem of the waiting tasks and the plan in force, to be decoded; None where none waits."""
        problem = self.problem(time)
        if problem is None:
            return None
        plan = self.plan(problem, time)
        return without_distant_reservations(problem, plan), plan

    def problem(
        self, time: float, *, reserved: bool = True, by_kind: bool = False, without: Collection[str] = ()
    ) -> Problem | None:
        """Return what waits to be planned but for some tasks, in seconds from `time`; None where nothing is."""
        up = self._domain.up()
        taken = self.taken(time) if reserved else self.busy(time)
        problem = self._queue.problems.build(
            tuple([name for name in self._plannable() if name not in without]) if without else self._plannable(),
            self._state.tasks,
            up,
            taken,
            time,
            self.assumptions(time, by_kind=by_kind),
            self.classes(by_kind=by_kind),
        )
        problem = problem and self._shared(problem, time)
        if problem is not None and self._state.prioritised:
            problem = with_priorities(problem, self._state.tasks)
        if problem is not None and self._state.linked:
            problem = with_dependencies(problem, self._state.tasks, partial(self.expected_end, time=time), time)
        if problem is not None and self._state.bounded:
            problem = with_array_limits(problem, self._state.tasks, self._array_ends(time))
        if problem is None:
            return None
        if self._settings.weights.slowdown:
            problem = replace(problem, waited=_waits(problem, self._state.tasks, time))
        problem = with_reservations(problem, self._reservations, time) if reserved else problem
        problem = self.packed(problem, time) if self._domain.shared else problem
        return self.licensed(problem, time) if self._state.licensed else problem

    def licensed(self, problem: Problem, time: float, added: Sequence[Task] = ()) -> Problem:
        """Return a problem with the licences of its tasks and of `added` ones."""
        state, handover = self._state, self._corrections.dispatch_latency.seconds
        specs = [state.tasks[name].spec for name in problem.tasks]
        asked = [spec.licences for spec in (*specs, *[task.spec for task in added])]
        held = []
        for name in state.licensed:
            attempt = state.attempt_of(name)
            if attempt is not None:
                end = predicted_end(attempt, time, handover)
                held.append((None if end is None else end - time, state.tasks[name].spec))
        names = tuple(sorted({name for each in asked for name in each}))
        return with_licences(problem, names, state.licences, specs, held) if names else problem

    def nothing_waiting(self, time: float, *, by_kind: bool = False) -> Problem:
        """Return the problem of the hosts alone, in seconds from `time`; at least one must be up."""
        hosts, free, class_of = self._domain.up(), self.taken(time), self.classes(by_kind=by_kind)
        classes = tuple(sorted({class_of[host] for host in hosts}))
        problem = Problem(
            tasks=(),
            hosts=tuple(hosts),
            classes=classes,
            host_class=np.array([classes.index(class_of[host]) for host in hosts], dtype=np.int64),
            free=np.array([max(free.get(host, time) - time, 0.0) for host in hosts], dtype=np.float64),
            seconds=np.empty((len(classes), 0, len(hosts))),
            release=np.empty(0),
            deadline=np.empty(0),
        )
        return with_reservations(problem, self._reservations, time)

    def packed(self, problem: Problem, time: float, added: Sequence[Task] = ()) -> Problem:
        """Return a problem on shared hosts, with the resources of its tasks and of `added` ones."""
        handover = self._corrections.dispatch_latency.seconds
        held = self._domain.held(self._state.attempts.values(), time, handover)
        tasks = self._state.tasks
        requests = [each[0] for each in self._requests.of(problem.tasks)]
        requests += [request for task in added for request in place_requests(task, self._domain)]
        choices = {
            row: self._requests.choice(name)
            for row, name in enumerate(problem.tasks if self._state.choosing else ())
            if tasks[name].alternatives
        }
        if choices and (room := self._state.host_room()).limited:
            choices = {
                row: self._within(choice, self._most(room, problem.tasks[row])) for row, choice in choices.items()
            }
        return with_packing(problem, requests, self._domain, held, time, choices, handover)

    def without_loans(self, problem: Problem, time: float) -> Problem:
        """Return the problem on shared hosts, made at this time, as it would be if no place were lent."""
        attempts = self._state.attempts.values()
        rest, whole = (
            [each for each in attempts if not each.loan],
            {host for each in attempts if each.loan and each.share is None for host in each.hosts},
        )
        held = self._domain.held(rest, time, self._corrections.dispatch_latency.seconds)
        free = np.where([host in whole for host in problem.hosts], 0.0, problem.free)
        return with_held(replace(problem, free=free), held, time)

    def licence_holders(self, name: str) -> list[tuple[str, Attempt]]:
        """Return the tasks that hold some of a licence, with their attempts, in order of arrival."""
        state = self._state
        attempts = [
            (task, state.attempt_of(task)) for task in state.licensed if name in state.tasks[task].spec.licences
        ]
        return [(task, attempt) for task, attempt in attempts if attempt is not None]

    def licence_back(self, name: str, amount: int, time: float) -> float | None:
        """Return when so many of a licence should not be in use any more, epoch seconds; None if unknown."""
        state, handover = self._state, self._corrections.dispatch_latency.seconds
        free = state.licences.total.get(name, 0) - state.licences.in_use[name]
        ends = []
        for task, attempt in self.licence_holders(name):
            if (end := expected_completion(attempt, time, handover)) is not None:
                ends.append((end, state.tasks[task].spec.licences[name]))
        for end, back in sorted(ends):
            free += back
            if free >= amount:
                return end
        return None

    def _within(self, choice: Choice, most: float) -> Choice:
        """Return the shapes that take no more hosts, or parts of them, than a user may have; all where each does."""
        parts = [self._domain.part(None if each.whole else each.share) for each in choice.requests]
        kept = choice.hosts * np.array(parts)[choice.which] <= most
        if kept.all() or not kept.any():
            return choice
        return Choice(choice.requests, choice.hosts[kept], choice.which[kept], choice.seconds[kept])

    def _array_ends(self, time: float) -> dict[str, list[float]]:
        """Return the seconds until the live attempts of each array should have ended, ascending."""
        ends: dict[str, list[float]] = {}
        for attempt in self._state.attempts.values():
            if not attempt.worker and (array := self._state.tasks[attempt.task].spec.array):
                end = expected_end(attempt, time, self._corrections.dispatch_latency.seconds)
                ends.setdefault(array, []).append(end - time)
        return {array: sorted(each) for array, each in ends.items()}

    def plan(self, problem: Problem, time: float) -> Plan:
        """Return the plan in force of a problem of what waits, made at a time."""
        if isinstance(self._policy, ImmediatePolicy):  # what waits is in order of arrival: no search has changed it
            return self._policy.plan_at_once(problem)
        return self.arranged(problem, self._queue.plan.for_problem(problem), time)

    def by_priority(self, time: float) -> TaskPlan:
        """Return the queue's plan with each user's tasks by priority, to be kept.

        If they changed places only for a look at the plan, the place of one that leaves would fall to a user's next
        task, and others would wait longer.
        """
        plan, problem = self._queue.plan, self.problem(time)
        if problem is None:
            return plan
        if not self._policy.searched:  # it looks at no deadline
            problem = replace(problem, deadline=np.full(len(problem.tasks), np.inf))
        inside = plan.for_problem(problem)
        order = self._kept(problem, inside, time, self._by_priority).order
        return plan.reordered(problem.tasks[task] for task in order.tolist())

    def arranged(self, problem: Problem, plan: Plan, time: float) -> Plan:
        """Return the plan with tasks without deadlines ordered by priorities and shares."""
        tree = self._state.shares.tree
        if tree is None and not self._state.prioritised:
            return plan
        used = {} if tree is None else self.expected_usage(time)

        def in_turns(problem: Problem, plan: Plan, first: int) -> Plan:
            if self._state.prioritised:
                plan = self._by_priority(problem, plan, first)
            return plan if tree is None else fair_plan(tree, used, problem, plan, self._state.tasks, first)

        return self._kept(problem, plan, time, in_turns)

    def _by_priority(self, problem: Problem, plan: Plan, first: int) -> Plan:
        return priority_plan(problem, plan, self._state.tasks, first)

    def _kept(self, problem: Problem, plan: Plan, time: float, order: Callable[[Problem, Plan, int], Plan]) -> Plan:
        """Return a plan in another order, but only behind guaranteed stages where more of these would be late.

        Args:
            problem: in seconds from `time`.
            plan: of the problem.
            time: epoch seconds.
            order: has tasks change their places from one on.
        """
        found = order(problem, plan, 0)
        if not self._state.guaranteed or np.array_equal(found.order, plan.order):
            return found
        if broken_guarantees(problem, found, self._state, time) <= broken_guarantees(problem, plan, self._state, time):
            return found
        return order(problem, plan, places_behind_guarantees(problem, plan, self._state))

    def in_turn(self, problem: Problem, rows: Sequence[int], time: float) -> list[int]:
        """Return tasks that may leave in the order of their turns, whatever their deadlines.

        Args:
            problem: what waits.
            rows: tasks of it in order of arrival; each has a host count in the queue's plan.
            time: now, epoch seconds.
        """
        tree = self._state.shares.tree
        if not rows or tree is None:
            return list(rows)
        at_once = replace(
            problem,
            deadline=np.full(len(problem.tasks), np.inf),
            release=np.zeros(len(problem.tasks)),
            depends_on=((),) * len(problem.tasks),
        )
        counts = np.array([max(self._queue.planned_count(name), 1) for name in problem.tasks], dtype=np.int64)
        in_order = Plan(np.array(rows, dtype=np.int64), counts)
        plan = fair_plan(tree, self.expected_usage(time), at_once, in_order, self._state.tasks)
        return [int(row) for row in plan.order]

    def expected_usage(self, time: float) -> dict[str, float]:
        """Return each user's decayed host-seconds, the rest of live attempts included.

        Without these the next host would go to who has just got one.
        """
        state, handover = self._state, self._corrections.dispatch_latency.seconds
        used = state.shares.usage(time, state.attempts.values(), state.tasks)
        for attempt in state.attempts.values():
            user = share_user(state.tasks[attempt.task])
            ahead = expected_end(attempt, time, handover) - max(time, attempt.started or time)
            used[user] = used.get(user, 0.0) + attempt.charged_hosts * max(ahead, 0.0)
        return used

    def _decoded(self, problem: Problem | None, time: float) -> tuple[Problem, Schedule] | None:
        if problem is None:
            return None
        plan = self.plan(problem, time)
        problem = without_distant_reservations(problem, plan)
        return problem, decode(problem, plan)

    def _plannable(self) -> tuple[str, ...]:
        """Return the waiting tasks, without those that ask for more than their users, or anybody, may have."""
        room, tasks, state = self._state.host_room(), self._queue.plan.tasks, self._state
        if any(state.licences.beyond(state.tasks[name].spec) for name in state.licensed):
            tasks = tuple(name for name in tasks if not state.licences.beyond(state.tasks[name].spec))
        if not room.limited:
            return tasks
        return tuple(name for name in tasks if self._fewest(name) <= self._most(room, name))

    def _fewest(self, name: str) -> float:
        """Return how many hosts a task is charged for at least."""
        task = self._state.tasks[name]
        return fewest_charged(task, self._domain)

    def _most(self, room: HostRoom, name: str) -> float:
        return room.most(share_user(self._state.tasks[name]))

    def _shared(self, problem: Problem, time: float) -> Problem:
        """Return a problem as the shares in force allow it.

        A deadline that cannot be met any more claims nothing, the others count by who has had less, and no task takes
        more hosts than its user may have.
        """
        tree = self._state.shares.tree
        if tree is None:
            return problem
        shortest = problem.release + problem.seconds.min(axis=(0, 2))
        within = shortest * (1 - self._settings.margin) <= problem.deadline  # the deadlines are early by the margin
        problem = replace(problem, deadline=np.where(within, problem.deadline, np.inf))
        problem = with_weights(tree, self.expected_usage(time), problem, self._state.tasks)
        room = self._state.host_room()
        if not room.limited:
            return problem
        users = [share_user(self._state.tasks[name]) for name in problem.tasks]
        most = {user: room.most(user) for user in set(users)}
        parts = [self._domain.part(self._domain.share_of(self._state.tasks[name].spec)) for name in problem.tasks]
        limits = np.array([most[user] for user in users]) / parts
        beyond = np.arange(1, problem.seconds.shape[2] + 1) > limits[:, np.newaxis]
        return replace(problem, seconds=np.where(beyond, np.inf, problem.seconds))

    def _without_room(self, time: float) -> dict[str, float]:
        """Return when tasks may leave that the limits of hosts keep, epoch seconds."""
        room = self._state.host_room()
        if not room.limited:
            return {}
        end = partial(expected_end, now=time, handover=self._corrections.dispatch_latency.seconds)
        plan, found = self._queue.plan, {}
        known: dict[tuple[str, float], float] = {}  # thousands may wait, of few users
        for name, count in zip(plan.tasks, plan.counts, strict=True):
            task = self._state.tasks[name]
            spec = task.shaped(self._queue.planned_cores(name), ()).spec
            key = share_user(task), max(count, 1) * self._domain.part(self._domain.share_of(spec))
            if key not in known:
                known[key] = room.suffices_at(key[0], min(key[1], room.most(key[0])), end)
            if time < known[key] < np.inf:
                found[name] = known[key]
        return found

    def _held_back(self, time: float) -> Mapping[str, float]:
        """Return the epoch time before which each held-back task is not tried.

        A task is held back, for example, while its owner is at the manager's limit, while a neighbour is asked about
        it or until the begin that its user has asked for.
        """
        shut = self._lifecycle.limited_owners()
        refused = (
            {
                name: shut[self._state.tasks[name].owner]
                for name in self._queue.plan.tasks
                if self._state.tasks[name].owner in shut
            }
            if shut
            else {}
        )
        not_before, without_room = self._queue.not_before, self._without_room(time)
        return _latest(not_before, refused, without_room) if refused or without_room else not_before


def _latest(*times: Mapping[str, float]) -> dict[str, float]:
    """Return the latest of the times of each task."""
    found: dict[str, float] = {}
    for each in times:
        found |= {name: max(until, found.get(name, until)) for name, until in each.items()}
    return found


def _loads_by_kind(
    loads: Mapping[str, HostLoad], kinds: Mapping[str, str]
) -> dict[str, tuple[tuple[HostLoad, int], ...]]:
    """Return `PlanningAssumptions.loads`.

    Args:
        loads: by host.
        kinds: of these hosts.
    """
    heaviest = sorted(Counter(loads.values()).items(), key=lambda each: (each[0].lost, each[0]), reverse=True)
    places = {load: place for place, (load, _) in enumerate(heaviest)}
    return {kinds[name]: tuple(heaviest[places[load] :]) for name, load in loads.items()}
