"""The state of a domain: hosts, live tasks, live attempts, and changes under way.

Start at `CoreState`, through which every change of a task or attempt goes.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import Changes, Outcome, Replan, RunRecord
from cosched.coscheduler.elastic.checkpoints import whole_run
from cosched.coscheduler.elastic.resize_counts import ResizeCounts
from cosched.coscheduler.learnt_corrections import MOST_DISTURBED, LearntCorrections
from cosched.coscheduler.places.hosts import DomainHosts
from cosched.coscheduler.places.licences import LicenceUse
from cosched.coscheduler.places.occupancy import HostOccupancy
from cosched.coscheduler.reservations import Reservations
from cosched.coscheduler.sharing.claims import given_back
from cosched.coscheduler.sharing.fair_shares import FairShares
from cosched.coscheduler.sharing.host_limits import HostRoom
from cosched.coscheduler.sharing.shares import share_user
from cosched.prediction.profile import PredictionSource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Decision, LogEntry
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.sharing.shares import UserUsage
    from cosched.coscheduler.task import Task

__all__ = ["CoreState"]

_NO_LICENCES: Mapping[str, int] = {}
_NO_CONTENTION: Mapping[str, float] = {}


class CoreState:
    """Keep the domain's records, and note every change, so that no outcome misses one.

    Attributes:
        hosts: the domain's hosts.
        occupancy: what jobs have had of shared hosts.
        licences: those of the domain, with what attempts hold of them.
        reservations: hosts that are kept for others.
        corrections: learnt corrections.
        shares: the shares in force, and what users have had.
        tasks: live tasks by identifier.
        attempts: live attempts by UUID; a task has at most one, beside its workers.
        tasks_by_owner: number of live tasks by owner.
        bytes_by_owner: text of live tasks in bytes, by owner.
        live_by_owner: number of live attempts by owner.
        live_by_array: number of live attempts by array.
        unmodelled_submitting: attempts without hosts that are on their way to the manager.
        workers: live workers of each elastic task that has any, UUIDs by their numbers.
        elastic: live elastic tasks; a dictionary keeps their order.
        resizes: counts of how these grew and shrank.
        guaranteed: live stages of chains whose deadlines are guaranteed.
    """

    def __init__(
        self,
        *,
        share_hosts: bool = False,
        licences: Mapping[str, int] = _NO_LICENCES,
        contention: Mapping[str, float] = _NO_CONTENTION,
    ) -> None:
        self.hosts = DomainHosts(shared=share_hosts)
        self.occupancy = HostOccupancy(self.hosts)
        self.licences = LicenceUse(licences)
        self.reservations = Reservations()
        self.corrections = LearntCorrections(contention if share_hosts else _NO_CONTENTION)
        self.shares = FairShares()
        self.tasks: dict[str, Task] = {}
        self.attempts: dict[str, Attempt] = {}
        self.tasks_by_owner: Counter[str] = Counter()
        self.bytes_by_owner: Counter[str] = Counter()
        self.live_by_owner: Counter[str] = Counter()
        self.live_by_array: Counter[str] = Counter()
        self.unmodelled_submitting: set[str] = set()
        self.workers: dict[str, dict[int, str]] = {}
        self.elastic: dict[str, None] = {}
        self.resizes = ResizeCounts()
        self.guaranteed: set[str] = set()
        self._successors: dict[str, dict[str, None]] = {}  # task → live ones that come after it; keeps its order
        # Live tasks that are out of the ordinary in some way: as long as there are none, plans leave that way out.
        self._prioritised: set[str] = set()
        self._demanding: set[str] = set()  # they name memory, cores, GPUs or a partition
        self._bounded: set[str] = set()  # of arrays with a limit
        self._choosing: set[str] = set()  # with alternatives
        self._licensed: dict[str, None] = {}  # keeps its order
        self._chains: dict[str, dict[str, None]] = {}  # chain → its live tasks; keeps their order
        self._changed_chains: set[str] = set()
        self._live: dict[str, str] = {}  # task → its live attempt
        self.begin(0.0)

    def begin(self, time: float) -> None:
        """Begin with an event at a time: nothing has changed yet."""
        self._time = time
        self._changed_usage: dict[str, UserUsage] = {}
        self._changed_tasks: dict[str, Task] = {}
        self._changed_attempts: dict[str, Attempt] = {}
        self._changed_reservations: dict[str, Reservation] = {}
        self._new_runs: list[RunRecord] = []
        self._notes: list[LogEntry] = []
        self._decisions: list[Decision] = []
        self._replan = False

    def outcome(self, *events: Event) -> Outcome:
        """Return what the event has changed and decided, with `Replan` last."""
        changes = Changes(
            self._changed_tasks,
            self._changed_attempts,
            self._changed_reservations,
            usage=self._changed_usage,
            runs=tuple(self._new_runs),
            log=tuple(self._notes),
        )
        decisions = (*self._decisions, Replan()) if self._replan else tuple(self._decisions)
        return Outcome(changes, decisions, events)

    def decide(self, *decisions: Decision) -> None:
        """Have something done once the changes are written down."""
        self._decisions += decisions

    def note(self, entry: LogEntry) -> None:
        """Append a line to the log, for a change that no event tells by itself."""
        self._notes.append(entry)

    def replan(self) -> None:
        """Say that what waits, what runs or the hosts have changed."""
        self._replan = True

    def load(self, tasks: Iterable[Task], attempts: Iterable[Attempt]) -> None:
        """Restore stored records, without noting a change."""
        for task in tasks:
            self._keep(task)
            self._note_chain(task)
        for task in self.tasks.values():
            self._link(task)
        for attempt in attempts:
            self._keep_attempt(attempt)
            self.occupancy.follow(attempt, self._time, seen=False)
        self._live |= {attempt.task: attempt.uuid for attempt in self.attempts.values() if not attempt.worker}

    def attempt_of(self, task: str) -> Attempt | None:
        """Return the live attempt of a task, if there is one."""
        uuid = self._live.get(task)
        return None if uuid is None else self.attempts[uuid]

    def workers_of(self, task: str) -> tuple[Attempt, ...]:
        """Return the live workers of a task, in order of their numbers."""
        return tuple([self.attempts[uuid] for _, uuid in sorted(self.workers.get(task, {}).items())])

    @property
    def linked(self) -> bool:
        """Return whether any live task has a predecessor."""
        return bool(self._successors)

    @property
    def prioritised(self) -> bool:
        """Return whether any live task has a priority other than 0."""
        return bool(self._prioritised)

    @property
    def demanding(self) -> bool:
        """Return whether any live task may run on some hosts alone; where hosts are shared all say what they need."""
        return self.hosts.shared or bool(self._demanding)

    @property
    def choosing(self) -> bool:
        """Return whether any live task has alternatives."""
        return bool(self._choosing)

    @property
    def licensed(self) -> Collection[str]:
        """Return the live tasks that ask for licences, in order of arrival."""
        return self._licensed.keys()

    @property
    def bounded(self) -> bool:
        """Return whether any live task is of an array with a limit."""
        return bool(self._bounded)

    @property
    def chained(self) -> bool:
        """Return whether any live task is a stage of a chain."""
        return bool(self._chains)

    def chains(self) -> tuple[str, ...]:
        """Return the chains with live tasks, in order of arrival."""
        return tuple(self._chains)

    def take_changed_chains(self) -> list[str]:
        """Return the chains that have changed since the last call, in order of arrival.

        A chain changes with its tasks, with their attempts, and when a task ends that one of them comes after.
        """
        if not self._changed_chains:
            return []
        changed, self._changed_chains = self._changed_chains, set()
        return [chain for chain in self._chains if chain in changed]

    def chain(self, name: str) -> list[Task]:
        """Return the live tasks of a chain, in order of their stages."""
        return [self.tasks[task] for task in self._chains.get(name, ())]

    def predecessors(self, task: Task) -> tuple[str, ...]:
        """Return a task's predecessors that have not completed yet."""
        return tuple(name for name in task.spec.after if name in self.tasks)

    def successors(self, task: str) -> tuple[str, ...]:
        """Return the live tasks that come after a live one, in order of arrival."""
        return tuple(self._successors.get(task, ()))

    def put(self, task: Task) -> None:
        """Keep a task as it is now."""
        if self.tasks.get(task.id) != task:
            if task.id not in self.tasks:
                self._link(task)
            self._keep(task)
            self._changed_tasks[task.id] = task
            self._note_chain(task)

    def close(self, task: Task) -> None:
        """Write a task's end down and forget it."""
        self.put(task)
        if not task.status.attempts:
            self.put_usage(given_back(self.shares, task, self._time))
        del self.tasks[task.id]
        self._prioritised.discard(task.id)
        self._demanding.discard(task.id)
        self._bounded.discard(task.id)
        self._choosing.discard(task.id)
        self.elastic.pop(task.id, None)
        self._licensed.pop(task.id, None)
        self.guaranteed.discard(task.id)
        for name in self.successors(task.id):
            self._note_chain(self.tasks[name])
        if task.stage is not None:
            del self._chains[task.stage.chain][task.id]
            if not self._chains[task.stage.chain]:
                del self._chains[task.stage.chain]
        self._unlink(task)
        self.tasks_by_owner[task.owner] -= 1
        self.bytes_by_owner[task.owner] -= task.spec.text_bytes
        if not self.tasks_by_owner[task.owner]:
            del self.tasks_by_owner[task.owner], self.bytes_by_owner[task.owner]
        self.replan()

    def put_attempt(self, attempt: Attempt) -> None:
        """Keep an attempt as it is now."""
        if self.attempts.get(attempt.uuid) != attempt:
            self._keep_attempt(attempt)
            self.occupancy.follow(attempt, self._time)
            if not attempt.worker:
                self._live[attempt.task] = attempt.uuid
            self._changed_attempts[attempt.uuid] = attempt
            self._note_chain(self.tasks[attempt.task])

    def close_attempt(self, attempt: Attempt, ends: tuple[float, float] | None = None) -> None:
        """Write an attempt's end down and forget it.

        Args:
            attempt: with its end.
            ends: seconds that one run in twenty was expected to stay below, and to exceed.
        """
        self._changed_attempts[attempt.uuid] = attempt
        del self.attempts[attempt.uuid]
        self.put_usage(self.shares.charge(attempt, share_user(self.tasks[attempt.task]), self._time))
        beside = self.occupancy.end(attempt, self._time)
        if not attempt.worker and (attempt.lead is None or attempt.lead.restarts):  # hosts of others with leads change
            self._note_run(attempt, ends, self._note_beside(attempt, beside))
        self.unmodelled_submitting.discard(attempt.uuid)
        task = self.tasks[attempt.task]
        self.live_by_owner[task.owner] -= 1
        if attempt.worker:
            del self.workers[attempt.task][attempt.worker]
            if not self.workers[attempt.task]:
                del self.workers[attempt.task]
        else:
            self.licences.give_back(task.spec)
            if task.spec.array:
                self.live_by_array[task.spec.array] -= 1
            del self._live[attempt.task]
        self._note_chain(task)
        self.replan()

    def hand_on(self, lead: Attempt, ended: Attempt, task: Task) -> None:
        """Have a lead and its workers go on with another task of the same owner.

        Args:
            lead: live, as it is from now on, with that task.
            ended: what stays with the task so far: an attempt that has ended, of another UUID.
            task: the other one, which takes what the one so far does.
        """
        self._changed_attempts[ended.uuid] = ended
        self.put_usage(self.shares.charge(ended, share_user(task), self._time))
        for worker in self.workers_of(ended.task):
            self.put_attempt(replace(worker, task=task.id))
        if (workers := self.workers.pop(ended.task, None)) is not None:
            self.workers[task.id] = workers
        del self._live[ended.task]
        self.put(task)
        self.put_attempt(lead)
        self.replan()

    def _note_chain(self, task: Task) -> None:
        if task.stage is not None:
            self._changed_chains.add(task.stage.chain)

    def _note_beside(self, attempt: Attempt, beside: float | None) -> float:
        """Write down in a task that has completed what was beside it; return what had been expected of that.

        Args:
            attempt: with its end.
            beside: see `TaskStatus.beside`.
        """
        task = self.tasks[attempt.task]
        expected = task.status.contention
        if beside is not None and attempt.state is AttemptState.COMPLETED and task.profile is not None:
            hardware, host_class = task.profile.hardware, self.hosts.hosts[attempt.hosts[0]].host_class
            longer = self.corrections.contention.times_longer(task, hardware, host_class, beside)
            self.put(task.with_status(beside=beside, contention=longer))
        return expected

    def _note_run(self, attempt: Attempt, ends: tuple[float, float] | None, contention: float) -> None:
        """Write down what an attempt that completed tells of the next ones.

        What failed or was cut off tells nothing, nor a run on hosts of several classes: the slowest of them decided;
        nor one of which owners of its hosts were expected to make nearly all.

        Args:
            attempt: with its end.
            ends: see `close_attempt`.
            contention: how many times longer than alone it had been expected to run.
        """
        if attempt.state is not AttemptState.COMPLETED or attempt.started is None or attempt.finished is None:
            return
        task, classes = self.tasks[attempt.task], self.hosts.classes()
        if task.status.load_factor > MOST_DISTURBED:
            return
        seconds, predicted = attempt.finished - attempt.started, attempt.predicted
        if attempt.lead is not None:
            if (whole := whole_run(task, len(attempt.hosts) or attempt.count, seconds)) is None:
                return
            seconds, predicted = whole
            ends = None if task.status.restarts is not None else ends  # it is of the last attempt
        found = {classes.get(host, "") for host in attempt.hosts} or {""}
        if attempt.finished > attempt.started and len(found) == 1:
            features, hardware = task.spec.features(task.owner), found.pop()
            longer = task.status.load_factor  # its time alone on dedicated hosts tells of any
            expected = self.corrections.contention
            taught = task.profile is not None and expected.learnt_exponent(task, task.profile.hardware) is not None
            beside = task.status.contention if taught else 1.0  # what is only stated may not have been there
            low, high = ends or (None, None)
            self._new_runs.append(
                RunRecord(
                    task.id,
                    features.key,
                    features.numbers,
                    task.owner,
                    task.spec.application,
                    len(attempt.hosts) or attempt.count,
                    hardware,
                    None if predicted is None else predicted / (longer * contention),
                    seconds / (longer * beside),
                    attempt.finished,
                    task.spec.program_digest,
                    _stated_seconds(task, attempt, hardware),
                    low,
                    high,
                    _modelled_launch(task, attempt),
                )
            )

    def host_room(self) -> HostRoom:
        """Return how many hosts users and groups may still take beside what runs."""
        return HostRoom(self.shares.tree, self.attempts.values(), self.tasks)

    def put_usage(self, usage: UserUsage | None) -> None:
        """Write a user's record down as it is now; None changes nothing."""
        if usage is not None:
            self._changed_usage[usage.user] = usage

    def put_reservation(self, reservation: Reservation) -> None:
        """Write a reservation down as it is now; the plan must heed it."""
        self._changed_reservations[reservation.id] = reservation
        self.replan()

    def _link(self, task: Task) -> None:
        for name in self.predecessors(task):
            self._successors.setdefault(name, {})[task.id] = None

    def _unlink(self, task: Task) -> None:
        self._successors.pop(task.id, None)
        for name in self.predecessors(task):
            self._successors[name].pop(task.id)
            if not self._successors[name]:
                del self._successors[name]

    def _keep_attempt(self, attempt: Attempt) -> None:
        if attempt.uuid not in self.attempts:
            task = self.tasks[attempt.task]
            self.live_by_owner[task.owner] += 1
            if attempt.worker:
                self.workers.setdefault(attempt.task, {})[attempt.worker] = attempt.uuid
            else:
                self.licences.take(task.spec)
                if task.spec.array:
                    self.live_by_array[task.spec.array] += 1
        self.attempts[attempt.uuid] = attempt
        if attempt.state is AttemptState.SUBMITTING and not attempt.hosts:
            self.unmodelled_submitting.add(attempt.uuid)
        else:
            self.unmodelled_submitting.discard(attempt.uuid)

    def _keep(self, task: Task) -> None:
        before = self.tasks.get(task.id)
        if before is None:
            self.tasks_by_owner[task.owner] += 1
            self.bytes_by_owner[task.owner] += task.spec.text_bytes
        elif before.spec is not task.spec:  # edited
            self.bytes_by_owner[task.owner] += task.spec.text_bytes - before.spec.text_bytes
        if before is None and task.spec.elastic is not None:
            self.elastic[task.id] = None
        if before is None or before.spec is not task.spec:
            (self._prioritised.add if task.spec.priority else self._prioritised.discard)(task.id)
            (self._demanding.add if task.spec.constrained else self._demanding.discard)(task.id)
            (self._bounded.add if task.spec.array_at_most else self._bounded.discard)(task.id)
            (self._choosing.add if task.alternatives else self._choosing.discard)(task.id)
            if task.spec.licences:
                self._licensed[task.id] = None
            else:
                self._licensed.pop(task.id, None)
        if task.stage is not None:
            self._chains.setdefault(task.stage.chain, {})[task.id] = None
            (self.guaranteed.add if task.stage.guaranteed else self.guaranteed.discard)(task.id)
        self.tasks[task.id] = task


def _stated_seconds(task: Task, attempt: Attempt, hardware: str) -> float | None:
    """Return the seconds that model or user foretold for an attempt.

    None where neither did; runs that corrected them do not count.
    """
    if task.profile is None or task.profile.source is PredictionSource.HISTORY:
        return None
    profile = task.profile.among([hardware]) if hardware else task.profile
    count = len(attempt.hosts) or attempt.count
    seconds = profile.stated or profile.seconds
    return seconds[count - 1] if count <= len(seconds) and seconds[count - 1] < math.inf else None


def _modelled_launch(task: Task, attempt: Attempt) -> str:
    """Return how an attempt that a model had foretold was launched; empty where none had, or it was run in parts."""
    if task.profile is None or task.profile.source is not PredictionSource.MODEL or attempt.lead is not None:
        return ""
    return task.spec.launch.value
