"""Read the past: runs, log, accuracy of predictions, plan history."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from cosched.api.documents import (
    Accuracy,
    DeadlineOutcome,
    ExchangeView,
    LearntApplication,
    LearntRunView,
    RecordView,
    RunView,
    UsageView,
)
from cosched.coscheduler.places.contention import contention_key
from cosched.prediction.calibration import Correction
from cosched.prediction.contention import Contention
from cosched.store.handovers import HandoverTable
from cosched.store.runs import RunTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from _typeshed import DataclassInstance

    from cosched.access.principals import Principal
    from cosched.api.documents import PlanPoint, SearchPoint
    from cosched.app.core_access import CoreClient
    from cosched.app.plan_history import PlanHistory
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import RunRecord
    from cosched.coscheduler.task import Task
    from cosched.store.rows import TableRow
    from cosched.store.store import Store

__all__ = ["MOST_USES", "DomainHistory", "HostUse"]

V = TypeVar("V", bound="DataclassInstance")

_MOST_RUNS = 4000
_MOST_EXCHANGES = 1000
_COMPLETED = 2000
_RATIOS = 60


MOST_USES = 40_000
"""Attempts whose hosts are told of at once."""


class HostUse(NamedTuple):
    """An attempt's hosts, from when until when, and what it took of each: cores (0: all of it), MiB of memory, GPUs.

    Its owner has no name for whoever may not see the task.
    """

    owner: str
    hosts: Sequence[str]
    start: float
    end: float
    cores: int
    memory: int = 0
    gpus: int = 0


class DomainHistory:
    """Answers questions about the past of a domain.

    Methods may block; any thread may call them.
    """

    def __init__(self, core: CoreClient, store: Store, plans: PlanHistory) -> None:
        self._core = core
        self._store = store
        self._plans = plans
        self._learnt = RunTable(store)
        self._handovers = HandoverTable(store)

    def runs(self, principal: Principal, since: float) -> list[RunView]:
        """Return the attempts that ended after a time; if too many, the last ones."""
        return [_run(principal, attempt, task) for attempt, task in self._store.ended_attempts(since, _MOST_RUNS)]

    def uses(self, principal: Principal, since: float) -> list[HostUse]:
        """Return which hosts attempts had that ended after a time; if too many, the last ones."""
        return [
            HostUse(owner if principal.may_see(owner) else "", hosts, start, end, *taken)
            for owner, hosts, start, end, *taken in self._store.host_uses(since, MOST_USES)
        ]

    def log(self, principal: Principal, limit: int, offset: int) -> list[RecordView]:
        """Return log lines, newest first; other users' tasks are for operators alone."""
        lines = self._store.log(_owner(principal), limit, offset)
        return [RecordView(time=line.time, kind=line.kind, task=line.task, detail=line.detail) for line in lines]

    def log_size(self, principal: Principal) -> int:
        """Return how many lines of the log a principal sees."""
        return self._store.log_size(_owner(principal))

    def accuracy(self) -> list[Accuracy]:
        """Return how well run times were predicted, by application and hardware."""
        learned, contentions = self._core.ask(lambda core, _time: (core.corrections(), core.contentions()))
        ratios: dict[tuple[str, str, str], list[float]] = {}
        beside: dict[tuple[str, str, str], Contention] = {}  # of several users' programs the one that ran last
        for task in self._store.completed(_COMPLETED):
            if task.profile is not None and task.status.predicted and task.status.actual:
                key = (task.spec.application, task.profile.hardware or "own figures", task.correction)
                ratios.setdefault(key, []).append(task.status.actual / task.status.predicted)
                beside[key] = contentions.get(contention_key(task, task.profile.hardware), Contention())
        return [
            Accuracy(
                application=application,
                hardware=f"{hardware}, corrected by runs" if "+runs/" in key else hardware,
                ratios=tuple(values[-_RATIOS:]),
                factor=learned.get(key, Correction()).factor,
                runs=learned.get(key, Correction()).runs,
                contention=beside[application, hardware, key].slowdown,
                contention_runs=len(beside[application, hardware, key].runs),
            )
            for (application, hardware, key), values in sorted(ratios.items())
        ]

    def usage(self, principal: Principal, by: Literal["user", "group", "application"], since: float) -> list[UsageView]:
        """Return the use of hosts by each owner since a time, the largest first.

        Only operators see more than their own. Groups are those of the shares; without shares all are of none.
        """
        column = "application" if by == "application" else "owner"
        rows = self._store.usage(column, since, self._core.now(), _owner(principal))
        found = [_view(UsageView, row) for row in rows]
        if by != "group":
            return found
        tree = self._core.ask(lambda core, _time: core.fair_shares.tree)
        return _together(found, {} if tree is None else tree.members)

    def runs_like(self, principal: Principal, task_id: str, limit: int) -> list[LearntRunView]:
        """Return the newest runs of what a task runs, with the same numbers; only operators see others'.

        They are those from which it is foretold where no model is better; on how many hosts they ran does not matter.
        """
        task = self._store.task(task_id)
        if task is None:
            return []
        runs = self._learnt.same(task.spec.features(task.owner), limit)
        return [_learnt_run(run) for run in runs if principal.may_see(run.owner)]

    def learnt_runs(self, principal: Principal, application: str, limit: int) -> list[LearntRunView]:
        """Return an application's learnt runs, the newest first; only operators see others'."""
        return [_learnt_run(run) for run in self._learnt.of_application(application, _owner(principal), limit)]

    def forget_runs(self, principal: Principal, application: str) -> None:
        """Forget what was learnt of an application; only operators forget others' runs with their own."""
        self._learnt.forget(application, _owner(principal))

    def learnt_applications(self, principal: Principal) -> list[LearntApplication]:
        """Return the applications with recorded runs, the one that ran last first; only operators see others'."""
        return [_view(LearntApplication, row) for row in self._learnt.applications(_owner(principal))]

    def deadline_outcomes(self, principal: Principal, since: float) -> list[DeadlineOutcome]:
        """Return the tasks with deadlines that ended after a time, the last to end first; only operators see others'.

        Those that were cancelled are left out; if there are too many, the last ones are returned.
        """
        rows = self._store.deadline_outcomes(since, _MOST_RUNS, _owner(principal))
        return [_view(DeadlineOutcome, row) for row in rows]

    def measured(
        self, principal: Principal, applications: Collection[str], parameters: Mapping[str, float | None]
    ) -> dict[str, list[tuple[int, float]]]:
        """Return what completed runs of applications took, to be drawn beside a model's curves.

        Args:
            principal: only operators see others' runs.
            applications: those that use the model.
            parameters: of the curves, all of the model's; only runs with the same are returned. None is what a model
                computes where nothing is given.

        Returns:
            Hosts and seconds of each run, by hardware.
        """
        found: dict[str, list[tuple[int, float]]] = {}
        for task in self._store.completed(_COMPLETED):
            known = task.spec.application in applications and task.profile is not None and principal.may_see(task.owner)
            if known and task.status.actual is not None and _same_parameters(task.spec.parameters, parameters):
                assert task.profile is not None
                run = len(task.status.hosts), task.status.actual
                found.setdefault(task.profile.hardware or "measured", []).append(run)
        return found

    def exchanges(self, principal: Principal, since: float) -> list[ExchangeView]:
        """Return the tasks that went to neighbours or came since a time, the newest first; only operators see others'.

        If there are too many, the last ones are returned.
        """
        return [
            _view(ExchangeView, row) for row in self._handovers.exchanged(since, _owner(principal), _MOST_EXCHANGES)
        ]

    def planned(self, task: str) -> list[PlanPoint]:
        """Return where a task was planned as its plan changed, oldest first."""
        return self._plans.planned(task)

    def search(self) -> list[SearchPoint]:
        """Return how the search's plan became better, oldest first."""
        return self._plans.search()


def _view(kind: type[V], row: TableRow) -> V:
    return kind(**{item.name: row[item.name] for item in fields(kind)})


def _learnt_run(run: RunRecord) -> LearntRunView:
    return LearntRunView(**{item.name: getattr(run, item.name) for item in fields(LearntRunView)})


def _same_parameters(given: Mapping[str, object], wanted: Mapping[str, float | None]) -> bool:
    """Return whether a task had these parameters; what it did not give is the model's own value."""
    return all(value == wanted[name] for name, value in given.items() if name in wanted)


def _owner(principal: Principal) -> str | None:
    """Return whose records a principal sees; None for everybody's."""
    return None if principal.is_operator else principal.name


def _together(users: Iterable[UsageView], groups: Mapping[str, str]) -> list[UsageView]:
    """Return the usage of groups, the sum of their members'."""
    found: dict[str, UsageView] = {}
    for user in users:
        name = groups.get(user.name, "")
        before = found.get(name, UsageView(name=name, tasks=0, runs=0, host_seconds=0.0, on_time=0, late=0))
        found[name] = UsageView(
            name=name,
            tasks=before.tasks + user.tasks,
            runs=before.runs + user.runs,
            host_seconds=before.host_seconds + user.host_seconds,
            on_time=before.on_time + user.on_time,
            late=before.late + user.late,
        )
    return sorted(found.values(), key=lambda each: (-each.host_seconds, each.name))


def _run(principal: Principal, attempt: Attempt, task: Task) -> RunView:
    assert attempt.started is not None
    assert attempt.finished is not None
    mine = principal.may_see(task.owner)
    return RunView(
        task=task.id if mine else "",
        name=task.spec.name if mine else "",
        application=task.spec.application if mine else "",
        hosts=attempt.hosts,
        start=attempt.started,
        end=attempt.finished,
        deadline=task.spec.deadline if mine else None,
        state=str(attempt.state),
        cores=attempt.cores,
        owner=task.owner if mine else "",
    )
