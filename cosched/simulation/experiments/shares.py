"""Deliver shares under saturation, beside the rules of Slurm and HTCondor on the same tasks.

Four users always have tasks waiting: ada and cyd give some deadlines, bob gives every task one and soon has no budget
left, eve gives every task a deadline that cannot be met. Start at `_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import SharesChanged, TaskSubmitted
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.sharing.standing import entitled_parts
from cosched.coscheduler.task import Task, TaskSpec
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.objective.weights import Weights
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.queue_rules import FairTreeRule, PriorityRule, QueuedTask, run_queue
from cosched.simulation.simulated_domain import SimulatedDomain, SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = ["EXPERIMENT"]

_HOUR = 3600.0
_HONEST, _GREEDY, _FALSE = ("ada", "cyd"), "bob", "eve"
_USERS = ("ada", "bob", "cyd", "eve")
_TREE = Shares(
    half_life=7 * 24 * _HOUR,
    window=24 * _HOUR,
    groups={"physics": Share(2.0), "biology": Share(1.0)},
    users={"ada": Share(2.0), "bob": Share(1.0)},
    members={"ada": "physics", "bob": "physics", "cyd": "biology"},
)
_EACH = 4  # one of so many tasks of ada and cyd has a deadline
_SOONEST, _LATEST = 2 * _HOUR, 6 * _HOUR  # from submission to deadline
_INSTANCE = "00000000-0000-0000-0000-000000000016"


@dataclass(frozen=True, slots=True)
class _Workload:
    """Endless tasks of each user, the same under every rule.

    Attributes:
        hosts: number of hosts.
        hours: how long the experiment lasts.
        seed: seed of the tasks.
        pretends: whether eve gives deadlines.
    """

    hosts: int
    hours: float
    seed: int
    pretends: bool = True

    @property
    def budgeted(self) -> Shares:
        """The tree; half of what each is entitled to may be claimed by deadlines."""
        parts = entitled_parts(_TREE, _USERS)
        budgets = {user: 0.5 * parts[user] * self.hosts * 24 for user in _USERS}
        return replace(_TREE, users={user: replace(_TREE.of_user(user), budget=budgets[user]) for user in _USERS})

    def task(self, user: str, number: int) -> tuple[tuple[float, ...], float | None]:
        """Return the profile of a user's task and its deadline after submission, in seconds."""
        draw = np.random.default_rng((self.seed, _USERS.index(user), number))
        alone, power = draw.uniform(0.2 * _HOUR, 1.2 * _HOUR), draw.uniform(0.6, 0.95)
        profile = tuple(float(alone / count**power) for count in range(1, min(self.hosts, 4) + 1))
        due = float(draw.uniform(_SOONEST, _LATEST))
        if user == _FALSE:
            return profile, 0.5 * min(profile) if self.pretends else None
        return profile, due if user == _GREEDY or number % _EACH == 0 else None


class _Domain(SimulatedDomain):
    """A domain whose users submit one more task for each that ends."""

    def __init__(self, workload: _Workload, shares: Shares | None, generations: int) -> None:
        settings = CoreSettings(_INSTANCE, weights=Weights(deadlines_first=True), staging=0.0)
        super().__init__(settings, workload.hosts, _seconds, SimulatedPlanner(generations, workload.seed))
        self._workload = workload
        self._given = dict.fromkeys(_USERS, 0)
        self.submitted: dict[str, Task] = {}
        self.post(SharesChanged(0.0, shares))
        for _ in range(2 * workload.hosts):
            for user in _USERS:
                self._submit(user)

    def completed(self, run: SimulatedRun) -> None:
        super().completed(run)
        self._submit(self.submitted[run.task].owner)

    def _submit(self, user: str) -> None:
        seconds, due = self._workload.task(user, self._given[user])
        self._given[user] += 1
        number = len(self.submitted) + 1
        spec = TaskSpec(str(number), "task", ("/bin/true",), deadline=None if due is None else self.time + due)
        profile = Profile(seconds, PredictionSource.MODEL, "any")
        task = Task(str(number), number, self.time, replace(spec, best_effort=True), owner=user, profile=profile)
        self.submitted[task.id] = task
        self.post(TaskSubmitted(self.time, task))


def _seconds(task: Task, count: int) -> float:
    assert task.profile is not None
    return task.profile.seconds[count - 1]


def _planned(workload: _Workload, shares: Shares | None, generations: int) -> list[QueuedTask]:
    """Run the daemon's core; return all tasks that were submitted."""
    domain, end = _Domain(workload, shares, generations), workload.hours * _HOUR
    domain.run(end)
    runs = [(run.task, len(run.hosts), run.started, run.finished) for run in domain.runs]
    runs += [
        (attempt.task, attempt.count, attempt.started, np.inf)
        for attempt in domain.core.attempts.values()
        if attempt.started is not None
    ]
    found = {
        task.id: QueuedTask(task.owner, 0, 0.0, task.submitted, task.spec.deadline)
        for task in domain.submitted.values()
    }
    for name, hosts, started, finished in runs:
        found[name] = replace(found[name], hosts=hosts, started=started, finished=finished)
    return list(found.values())


def _queued(workload: _Workload, rule: FairTreeRule | PriorityRule) -> list[QueuedTask]:
    """Run a queue by a rule; each task asks for its cheapest number of hosts."""

    def task(user: str, number: int, time: float) -> QueuedTask:
        seconds, due = workload.task(user, number)
        hosts = int(np.argmin([count * value for count, value in enumerate(seconds, start=1)])) + 1
        return QueuedTask(user, hosts, seconds[hosts - 1], time, None if due is None else time + due)

    return run_queue(rule, _USERS, workload.hosts, 2 * workload.hosts, workload.hours * _HOUR, task)


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    workload = _Workload(int(options["hosts"]), options["hours"], seed)
    generations = int(options["generations"])
    honest = replace(workload, pretends=False)
    rules: dict[str, Callable[[], list[QueuedTask]]] = {
        "shares": lambda: _planned(workload, workload.budgeted, generations),
        "shares, eve without deadlines": lambda: _planned(honest, workload.budgeted, generations),
        "deadlines-first": lambda: _planned(workload, None, generations),
        "Slurm's fair tree": lambda: _queued(workload, FairTreeRule(_TREE)),
        "HTCondor's effective priority": lambda: _queued(workload, PriorityRule(_TREE)),
    }
    return [row for name, run in rules.items() for row in _rule_rows(name, run(), workload)]


def _rule_rows(name: str, tasks: list[QueuedTask], workload: _Workload) -> list[ResultRow]:
    """Return a row for each user; deadlines up to the end count, of tasks that never began, too."""
    end = workload.hours * _HOUR
    taken = dict.fromkeys(_USERS, 0.0)
    for task in tasks:
        taken[task.user] += task.hosts * max(0.0, min(task.finished, end) - task.started)
    parts, whole = entitled_parts(_TREE, _USERS), sum(taken.values())
    rows: list[ResultRow] = []
    for user in _USERS:
        due = [task for task in tasks if task.user == user and task.deadline is not None and task.deadline <= end]
        met = sum(task.finished <= (task.deadline or 0.0) for task in due)
        rows.append(
            {
                "rule": name,
                "user": user,
                "entitled": parts[user],
                "delivered": taken[user] / whole,
                "ratio": taken[user] / whole / parts[user],
                "deadlines": len(due),
                "on_time": met / len(due) if due else None,
                "used": whole / (workload.hosts * end),
            }
        )
    return rows


EXPERIMENT = Experiment(
    name="shares",
    reproduces="Beyond the papers: shares under saturation, beside Slurm's and HTCondor's rules on the same tasks",
    keys=("rule", "user"),
    run=_rows,
    searches=True,
    options={
        "hosts": ExperimentOption(8, "number of hosts", 2, 64),
        "hours": ExperimentOption(24.0, "virtual hours", 0.5, 1000),
        "generations": ExperimentOption(20, "generations of the search at each change", 0, 10_000),
    },
    note="ada and cyd stay within their budget; bob does not; eve's deadlines cannot be met",
)
