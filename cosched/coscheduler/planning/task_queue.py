"""The queue holds the waiting tasks and says which of them may leave."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

from cosched.coscheduler.planning.problem_builder import ProblemBuilder
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.recording.snapshot import QueueSnapshot
from cosched.scheduling.heuristics.insertion import DeadlineOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from cosched.coscheduler.planning.staging import Staging
    from cosched.coscheduler.task import Task

__all__ = ["TaskQueue"]


class TaskQueue:
    """The waiting tasks, and which of them may leave.

    Attributes:
        problems: makes problems of these tasks.
        held_back: tasks that are not tried again before an epoch time.
        start_requests: held task → how many times its origin was asked to let it start.
        offered_to_neighbours: task that is offered before it leaves late → whether a neighbour may still take it.
        in_transit: tasks of other domains that wait for one that takes them, and never leave here.
    """

    def __init__(
        self,
        staging: Staging,
        waits: Callable[[str, int, int, float], bool] = lambda _task, _hosts, _cores, _time: False,
        *,
        by_deadline: bool = True,
    ) -> None:
        """Set up.

        Args:
            staging: until when tasks wait for the search.
            waits: whether a task with so many hosts in the plan, and cores of each, may not leave at a time for
                reasons that others know (see `StartLimits.waits`).
            by_deadline: whether new tasks are inserted by deadline, else at the end.
        """
        self._waits = waits
        self._by_deadline = by_deadline
        # The plan in parts that a task can change: its value is made when it is asked for.
        self._order: DeadlineOrder[str] = DeadlineOrder({})
        self._counts: dict[str, int] = {}
        self._classes: dict[str, str] = {}  # tasks without a class are left out
        self._cores: dict[str, int] = {}  # likewise
        self._plan: TaskPlan | None = None  # since the last change
        self.problems = ProblemBuilder()
        self.held_back: dict[str, float] = {}
        self.start_requests: dict[str, int] = {}
        self.offered_to_neighbours: dict[str, bool] = {}
        self.in_transit: dict[str, None] = {}
        self._begins: dict[str, float] = {}  # tasks that were not to start before a time
        self._staging = staging
        self._unmodelled: dict[str, None] = {}  # tasks without a profile; a dictionary keeps its order
        self._searched: set[str] = set()  # tasks that a settled plan of the search has covered

    @property
    def plan(self) -> TaskPlan:
        """Tasks with a profile, in the order and with the host counts currently planned."""
        if self._plan is None:
            tasks = self._order.tasks()
            classes = tuple(self._classes.get(task, "") for task in tasks) if self._classes else ()
            cores = tuple(self._cores.get(task, 0) for task in tasks) if self._cores else ()
            self._plan = TaskPlan(tasks, tuple(map(self._counts.__getitem__, tasks)), classes, cores)
        return self._plan

    @property
    def planned(self) -> Collection[str]:
        """Tasks of the plan in no order: to look one up, no plan is made."""
        return self._counts

    def planned_count(self, task: str) -> int:
        """Return a task's number of hosts in the plan; 0 where none is chosen."""
        return self._counts.get(task, 0)

    def planned_cores(self, task: str) -> int:
        """Return the cores that a task takes of each host in the plan; 0 where it has one shape, or none is chosen."""
        return self._cores.get(task, 0)

    def overtaken_by(self, task: Task) -> int:
        """Return how many tasks of the plan a new one overtakes where it is inserted."""
        return self._order.overtaken_by(self._due(task), task.spec.after)

    @property
    def not_before(self) -> Mapping[str, float]:
        """Tasks that may not start before an epoch time, which their users or others set."""
        if not self._begins:
            return self.held_back
        later = {task: max(begin, self.held_back.get(task, 0.0)) for task, begin in self._begins.items()}
        return {**self.held_back, **later}

    def add(self, task: Task) -> None:
        """Put a new task into the plan by its deadline, or at the end."""
        self._note_begin(task)
        if task.in_transit:
            self.in_transit[task.id] = None
        elif task.profile is None:
            self._unmodelled[task.id] = None
        else:
            self._order.insert(task.id, self._due(task), task.spec.after)
            self._counts[task.id] = 0
            self._plan = None

    def add_all(self, tasks: Iterable[Task]) -> None:
        """Put tasks at the end in this order."""
        planned = {}
        for task in tasks:
            if task.profile is None:
                self.add(task)
            else:
                self._note_begin(task)
                planned[task.id] = self._due(task)
        self._order = self._order.extended(planned)
        self._counts |= dict.fromkeys(planned, 0)
        self._plan = None

    def add_again(self, task: Task) -> None:
        """Put a task that had begun at the front; it has been through staging before."""
        self._note_begin(task)
        if task.in_transit:
            self.in_transit[task.id] = None
        elif task.profile is None:
            self._unmodelled = {task.id: None, **self._unmodelled}
        else:
            self._order.insert_first(task.id, self._due(task))
            self._counts[task.id] = 0
            self._plan = None
            self._searched.add(task.id)

    def add_restarted(self, task: Task, hosts: int, behind: str) -> None:
        """Put a task that has checkpointed to the front, or right behind another that waits, on so many hosts.

        A later plan may say otherwise; 0 hosts: it is chosen anew.
        """
        self.add_again(task)
        if task.id not in self._counts:
            return
        names = list(self.plan.tasks)
        if behind in self._counts:
            names.remove(task.id)
            names.insert(names.index(behind) + 1, task.id)
        self.adopt(self.plan.reordered(names).with_counts({task.id: hosts}))

    def change(self, before: Task, after: Task) -> None:
        """Take note that a waiting task was edited, held or released.

        A held one is taken out; where its deadline or run times changed, it gets the place of a new one, and other
        domains may be asked about it again.
        """
        moved = (before.due, before.profile) != (after.due, after.profile)
        if _taken_of_hosts(before) != _taken_of_hosts(after):
            self.problems.forget(after.id)
        if after.status.held_by:
            self.remove(after.id)
        elif before.status.held_by:
            self.add(after)
        elif moved and (before.profile or after.profile) is not None:
            searched = after.id in self._searched
            self.remove(after.id)
            self.add(after)
            self._searched |= {after.id} if searched else set()
        else:
            self._note_begin(after)

    def snapshot(self) -> QueueSnapshot:
        """Return all that the queue remembers."""
        return QueueSnapshot(
            self.plan,
            dict(self.held_back),
            dict(self.start_requests),
            dict(self.offered_to_neighbours),
            tuple(self.in_transit),
            tuple(self._unmodelled),
            tuple(sorted(self._searched)),
        )

    def load(self, snapshot: QueueSnapshot, tasks: Mapping[str, Task]) -> None:
        """Go on from a snapshot; `tasks` are all live ones."""
        self._order = DeadlineOrder({name: self._due(tasks[name]) for name in snapshot.plan.tasks})
        self._follow(snapshot.plan)
        self.held_back, self.start_requests, self.offered_to_neighbours = (
            dict(snapshot.held_back),
            dict(snapshot.start_requests),
            dict(snapshot.offered_to_neighbours),
        )
        self.in_transit, self._unmodelled = dict.fromkeys(snapshot.in_transit), dict.fromkeys(snapshot.unmodelled)
        self._searched = set(snapshot.searched)
        for name in (*snapshot.plan.tasks, *snapshot.unmodelled, *snapshot.in_transit):
            self._note_begin(tasks[name])

    def adopt(self, plan: TaskPlan) -> None:
        """Make a plan the current one; waiting tasks that it does not name keep behind."""
        self._follow(self.plan.replanned(plan))

    def remove(self, task: str) -> None:
        """Take a task out that leaves or has ended."""
        if self._counts.pop(task, None) is not None:
            self._order.remove(task)
            self._classes.pop(task, None)
            self._cores.pop(task, None)
            self._plan = None
        self.problems.forget(task)
        self._begins.pop(task, None)
        self._unmodelled.pop(task, None)
        self.in_transit.pop(task, None)
        self._searched.discard(task)
        self.offered_to_neighbours.pop(task, None)
        self.release(task)

    def release(self, task: str) -> None:
        """Forget what held a task back."""
        self.held_back.pop(task, None)
        self.start_requests.pop(task, None)

    def searched(self, tasks: Iterable[str]) -> None:
        """Note that the search has looked at these tasks: their staging is over."""
        self._searched |= self._counts.keys() & set(tasks)

    def unmodelled(self, time: float, most: int) -> list[str]:
        """Return the first tasks without a profile that may leave now, `most` at most."""
        return list(islice((task for task in self._unmodelled if self.may_leave(task, time)), most))

    def is_unmodelled(self, task: str, time: float) -> bool:
        """Return whether a task waits without a profile, and its time has come."""
        return task in self._unmodelled and self._released(task, time)

    def may_leave(self, task: str, time: float) -> bool:
        """Return whether nothing holds the task back any more."""
        hosts, cores = self.planned_count(task), self.planned_cores(task)
        return self._released(task, time) and not self._waits(task, hosts, cores, time)

    def _released(self, task: str, time: float) -> bool:
        return max(self.held_back.get(task, 0.0), self._begins.get(task, 0.0)) <= time

    def staged(self, task: Task, time: float) -> bool:
        """Return whether the task has waited long enough for the search."""
        return task.id in self._searched or self._staging.over(task.submitted, time)

    def _note_begin(self, task: Task) -> None:
        if task.spec.begin is None:
            self._begins.pop(task.id, None)
        else:
            self._begins[task.id] = task.spec.begin

    def _follow(self, plan: TaskPlan) -> None:
        """Take over a plan of the tasks that wait."""
        if plan.tasks != self._order.tasks():
            self._order = self._order.reordered(plan.tasks)
        self._counts = dict(zip(plan.tasks, plan.counts, strict=True))
        self._classes = {task: each for task, each in zip(plan.tasks, plan.classes, strict=False) if each}
        self._cores = {task: each for task, each in zip(plan.tasks, plan.cores, strict=False) if each}
        self._plan = plan

    def _due(self, task: Task) -> float:
        return task.due if task.due is not None and self._by_deadline else math.inf


def _taken_of_hosts(task: Task) -> tuple[object, ...]:
    """Return what a task takes of each host, and of which, on which its run times depend, too."""
    return task.spec.needs, task.spec.exclusive, task.spec.partition, task.alternatives
