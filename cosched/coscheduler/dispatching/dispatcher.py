"""The dispatcher starts the tasks whose turn has come, where no limit holds them back.

Start at `Dispatcher.start` for what the plan starts now; tasks without a prediction go by `start_unmodelled`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.dispatching.immediate_starts import ImmediateStart
    from cosched.coscheduler.dispatching.start_limits import StartLimits
    from cosched.coscheduler.forwarding import Forwarding
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["Dispatcher"]

# Tasks without a profile that are handed to the manager at once: enough for batches, few enough that a planned task
# does not wait long behind them while its hosts stay idle.
_MOST_UNMODELLED = 200


class Dispatcher:
    """Starts tasks within the limits."""

    def __init__(
        self,
        state: CoreState,
        queue: TaskQueue,
        limits: StartLimits,
        lifecycle: AttemptLifecycle,
        forwarding: Forwarding,
    ) -> None:
        self._state = state
        self._queue = queue
        self._limits = limits
        self._lifecycle = lifecycle
        self._forwarding = forwarding

    def start_unmodelled(self, time: float) -> None:
        """Start the tasks without a profile that may leave, wherever the manager likes."""
        while self._pass_through(time):
            pass

    def start(self, planned: ImmediateStart, time: float) -> Task | None:
        """Start a task on the hosts of the plan.

        Returns:
            The task in the shape that it has there; None where a limit holds it back, or a neighbour is asked first.
        """
        hosts = [self._state.hosts.hosts[host] for host in planned.hosts]
        waiting = self._state.tasks[planned.task]
        task = waiting.shaped(planned.cores, hosts)
        if not self._limits.admits(task, len(hosts), time):
            return None
        if self._forwarding.keeps_back(waiting, time + planned.seconds, time):
            return None
        self._limits.take(task, len(hosts))
        seconds = planned.seconds - self._state.corrections.dispatch_latency.seconds
        task = task.on(host.host_class for host in hosts)
        self._lifecycle.start(task, planned.hosts, seconds, time)
        self._state.replan()
        return task

    def _pass_through(self, time: float) -> bool:
        """Have tasks without a profile leave; return whether some with licences did, which others have waited for."""
        licences, more = self._state.licences, False
        licences.keep(self._unmodelled_licensed(time))
        most = max(_MOST_UNMODELLED - len(self._state.unmodelled_submitting), 0)
        for name in self._queue.unmodelled(time, most):
            task = self._state.tasks[name]
            short = self._limits.lacks_room(task, 0) or not licences.suffice(task)
            if not self._limits.owner_is_limited(task, time) and not short:
                self._limits.take(task, task.spec.count)
                self._lifecycle.start(task, (), None, time)
                more = more or bool(task.spec.licences)
        return more

    def _unmodelled_licensed(self, time: float) -> list[Task]:
        """Return the waiting tasks without a profile that ask for licences, and wait for nothing else."""
        names = [name for name in self._state.licensed if self._queue.is_unmodelled(name, time)]
        return [
            task
            for task in map(self._state.tasks.__getitem__, names)
            if not self._state.predecessors(task)
            and not self._limits.owner_is_limited(task, time)
            and not self._limits.lacks_room(task, 0)
            and not self._state.licences.beyond(task.spec)
        ]
