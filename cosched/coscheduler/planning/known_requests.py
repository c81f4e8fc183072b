"""Requests of waiting tasks on shared hosts, made once as long as they stay the same: thousands may wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.places.packing import Choice, place_requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cosched.coscheduler.places.packing import PlaceRequest
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import TaskSpec

__all__ = ["KnownRequests"]

_REQUESTS_PER_TASK = 4  # those of tasks that have left are given up together


class KnownRequests:
    """Cache of the requests and shapes of waiting tasks."""

    def __init__(self, state: CoreState, queue: TaskQueue) -> None:
        self._state = state
        self._queue = queue
        self._requests: dict[str, tuple[TaskSpec, int | None, tuple[PlaceRequest, ...]]] = {}
        self._choices: dict[str, tuple[NDArray[np.float64], Choice]] = {}
        self._same: dict[tuple[PlaceRequest, ...], tuple[PlaceRequest, ...]] = {}

    def of(self, names: Sequence[str]) -> list[tuple[PlaceRequest, ...]]:
        """Return the requests of waiting tasks, one for each alternative."""
        tasks, memory, known = self._state.tasks, self._state.hosts.memory_per_core, self._requests
        found = []
        for name in names:
            each = known.get(name)
            if each is None or each[0] is not tasks[name].spec or each[1] != memory:
                found.append(self._made(name, memory))
                known = self._requests  # it may have begun anew
            else:
                found.append(each[2])
        return found

    def _made(self, name: str, memory: int | None) -> tuple[PlaceRequest, ...]:
        if len(self._requests) > _REQUESTS_PER_TASK * len(self._queue.plan.tasks):
            self._requests, self._choices, self._same = {}, {}, {}
        task = self._state.tasks[name]
        found = place_requests(task, self._state.hosts)
        found = self._same.setdefault(found, found)
        self._requests[name] = (task.spec, memory, found)
        return found

    def choice(self, name: str) -> Choice:
        """Return the shapes of a waiting task with alternatives."""
        times, (requests,) = self._queue.problems.alternatives(name), self.of((name,))
        known = self._choices.get(name)
        if known is None or known[0] is not times or known[1].requests is not requests:
            known = self._choices[name] = (times, Choice.of(requests, times))
        return known[1]
