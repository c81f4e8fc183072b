"""Small tasks, settings and a core with hosts, for the tests of the core."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import CancelAttempt, DispatchAttempt, LocateAttempt, Outcome
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.elastic.values import Elastic
from cosched.coscheduler.events import (
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    Restored,
    SavedState,
    SharesChanged,
    TaskSubmitted,
)
from cosched.coscheduler.places.alternatives import Alternative, quickest_profile
from cosched.coscheduler.sharing.shares import Shares
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.coscheduler.task import Task

INSTANCE = "6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11"


def settings(**changes: Any) -> CoreSettings:
    return CoreSettings(**{"instance": INSTANCE, "staging": 0.0, **changes})


def hosts(count: int, down: Sequence[int] = ()) -> tuple[Host, ...]:
    return tuple(Host(f"node{n:02d}", up=n not in down) for n in range(1, count + 1))


def mixed_hosts(count: int = 3, down: Sequence[int] = ()) -> tuple[Host, ...]:
    """Return hosts of which the first is fast and the others are slow."""
    return tuple(replace(host, host_class="slow" if place else "fast") for place, host in enumerate(hosts(count, down)))


def on_both(number: int, fast: Sequence[float], slow: Sequence[float], **changes: Any) -> Task:
    """Return a task that was predicted on either class."""
    each = [Profile(tuple(fast), PredictionSource.MODEL, "fast"), Profile(tuple(slow), PredictionSource.MODEL, "slow")]
    both = slowest_profile(each, "fast+slow")
    return replace(a_task(number, correction="app/fast+slow", **changes), profile=both)


def a_core(count: int = 4, **changes: Any) -> Coscheduler:
    core = Coscheduler(settings(**changes))
    core.handle(HostsObserved(0.0, hosts(count)))
    return core


def under_plan(core: Coscheduler, plan: TaskPlan) -> Coscheduler:
    """Return a core like this one that follows another plan."""
    snapshot = core.snapshot()
    return Coscheduler.from_snapshot(core.settings, replace(snapshot, queue=replace(snapshot.queue, plan=plan)))


def shared(core: Coscheduler, shares: Shares | None = None) -> Coscheduler:
    """Return a core with shares in force, by default such that no usage decays."""
    core.handle(SharesChanged(0.0, Shares(half_life=1e9) if shares is None else shares))
    return core


def a_task(number: int, seconds: Sequence[float] | None = (10.0, 6.0, 5.0, 4.0), **changes: Any) -> Task:
    profile = None if seconds is None else Profile(tuple(seconds), PredictionSource.MODEL, "test")
    fields: dict[str, Any] = {"correction": "app/test", "submitted": 0.0, **changes}
    return make_task(number, name=f"t{number}", application="app", command=("/bin/true",), profile=profile, **fields)


def with_shapes(task: Task, shapes: Mapping[int, Sequence[float]], memory: int = 0) -> Task:
    """Return a task that may have so many cores of each host, with the seconds on 1, 2, … hosts of each number."""
    alternatives = tuple(
        Alternative(cores, Profile(tuple(seconds), PredictionSource.MODEL, "test"), memory)
        for cores, seconds in sorted(shapes.items())
    )
    spec = replace(task.spec, cores_range=f"{alternatives[0].cores}-{alternatives[-1].cores}")
    return replace(task, spec=spec, profile=quickest_profile(alternatives), alternatives=alternatives).reopened()


def elastic_task(number: int, seconds: Sequence[float], **changes: Any) -> Task:
    """Return an elastic task; `needs_lead` and `grace` are of its workers."""
    of_workers = {name: changes.pop(name) for name in ("needs_lead", "grace") if name in changes}
    return a_task(number, seconds, elastic=Elastic(("/bin/worker", "{worker}"), **of_workers), **changes)


def restart_task(number: int, seconds: Sequence[float], **changes: Any) -> Task:
    """Return a task that checkpoints; `grace`, `cost` and `force` are of its restarts."""
    of_restarts = {name: changes.pop(name) for name in ("grace", "cost", "force") if name in changes}
    return a_task(number, seconds, elastic=Elastic(restart=True, **of_restarts), **changes)


def workers(outcome: Outcome) -> list[Attempt]:
    """Return the workers that an outcome starts."""
    return [attempt for attempt in dispatched(outcome) if attempt.worker]


def restore(core: Coscheduler, time: float, **saved: Iterable[Any]) -> Outcome:
    """Have a core take up records, given as fields of `SavedState`."""
    records: dict[str, Any] = {kind: tuple(each) for kind, each in saved.items()}
    return core.handle(Restored(time, SavedState(**records)))


def submit(core: Coscheduler, task: Task, time: float = 0.0) -> Outcome:
    return core.handle(TaskSubmitted(time, task))


def dispatched(outcome: Outcome) -> list[Attempt]:
    return [decision.attempt for decision in outcome.decisions if isinstance(decision, DispatchAttempt)]


def cancelled(outcome: Outcome) -> list[str]:
    return [decision.attempt for decision in outcome.decisions if isinstance(decision, CancelAttempt)]


def located(outcome: Outcome) -> list[str]:
    return [decision.attempt for decision in outcome.decisions if isinstance(decision, LocateAttempt)]


def report(core: Coscheduler, attempt: Attempt, state: JobState, time: float, **fields: Any) -> Outcome:
    return core.handle(JobReported(time, JobReport(attempt.uuid, state, **fields)))


def start(core: Coscheduler, attempt: Attempt, time: float) -> None:
    core.handle(AttemptSubmitted(time, attempt.uuid, "1.0"))
    report(core, attempt, JobState.RUNNING, time, started=time)


def complete(core: Coscheduler, attempt: Attempt, started: float, finished: float) -> Outcome:
    return report(core, attempt, JobState.COMPLETED, finished, started=started, finished=finished, exit_code=0)


def in_order(core: Coscheduler) -> list[str]:
    """Return the waiting tasks in the order of the plan."""
    return list(core.plan.tasks)
