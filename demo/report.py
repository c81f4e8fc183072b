"""What came of it: a table, the comparison with plain first come, first served, and the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.table import Table

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.task import Task, TaskSpec
from cosched.drawing.gantt import GanttBar, gantt
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.policies import USER_COUNT_POLICIES
from cosched.scheduling.problem import Problem
from cosched.simulation.kernels import HOSTS, kernel_profile
from cosched.simulation.simulated_domain import SimulatedDomain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.api.documents import LearntRunView, TaskView
    from cosched.prediction.profile import Profile
    from cosched.simulation.kernels import KernelTask

__all__ = [
    "Outcome",
    "baselines",
    "bound",
    "comparison",
    "kernel_profiles",
    "measure",
    "models",
    "picture",
    "predictions",
    "sentence",
    "table",
]

_INSTANCE = "00000000-0000-0000-0000-000000000000"  # of simulated domains, which have no database


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one measured run.

    Attributes:
        makespan: from the submission to the last end, seconds.
        idle: share of the hosts' time up to the makespan in which they ran nothing.
        on_time: tasks that met their deadline.
        handover: share of the hosts' time up to the makespan between the end of one job and the start of the next on
            the same host, on every host.
        waiting: the part of that share that the schedule itself leaves idle, however quick the hand-over is: another
            of the next job's hosts was still at work, or it had to wait for the job ahead.
        gap: median of the pauses without that part, seconds.
    """

    makespan: float
    idle: float
    on_time: int
    handover: float
    waiting: float
    gap: float


def measure(tasks: Sequence[TaskView], began: float, hosts: int = HOSTS, *, in_order: bool = False) -> Outcome:
    """Work the figures of a run out from what the resource manager reported.

    Args:
        tasks: of the run, as they were submitted.
        began: when they were.
        hosts: how many hosts there were.
        in_order: none might start before the one ahead of it.
    """
    makespan = max(task.finished or began for task in tasks) - began
    busy = sum(len(task.hosts) * (task.actual or 0.0) for task in tasks)
    pauses = _pauses(tasks, in_order=in_order)
    return Outcome(
        makespan=makespan,
        idle=1 - busy / (makespan * hosts),
        on_time=sum(bool(task.on_time) for task in tasks),
        handover=sum(pause.whole for pause in pauses) / (makespan * hosts),
        waiting=sum(pause.waiting for pause in pauses) / (makespan * hosts),
        gap=float(np.median([pause.whole - pause.waiting for pause in pauses])) if pauses else 0.0,
    )


class _Pause(NamedTuple):
    """Between two jobs on one host, in seconds.

    Attributes:
        whole: from the end of one to the start of the next.
        waiting: of it, until the next job could have started.
    """

    whole: float
    waiting: float


def _pauses(tasks: Sequence[TaskView], *, in_order: bool) -> list[_Pause]:
    """Return the pauses on every host.

    A task leaves when the last of its hosts comes free, and in order when the one ahead has left. That hosts waited for
    it is the schedule's doing; what passes from then to its start is the hand-over's.
    """
    pauses = []
    for number, task in enumerate(tasks):
        before = [_free_before(tasks, host, task) for host in task.hosts]
        known = [end for end in before if end is not None]
        if known and task.started is not None:
            ahead = tasks[number - 1].started if in_order and number else None
            ready = min(max(known if ahead is None else [*known, ahead]), task.started)
            pauses += [_Pause(task.started - end, ready - end) for end in known]
    return pauses


def _free_before(tasks: Sequence[TaskView], host: str, task: TaskView) -> float | None:
    ends = [other.finished for other in tasks if host in other.hosts and other.id != task.id]
    return max((end for end in ends if end is not None and end <= (task.started or 0.0)), default=None)


def table(tasks: Sequence[TaskView], began: float) -> Table:
    """Return the table of the tasks: hosts, predicted, actual, deadline met by how much."""
    shown = Table(title="What became of the tasks (seconds)", caption="early: deadline minus end; negative is late")
    for heading in ("task", "kernel", "hosts", "predicted", "actual", "started", "ended", "deadline", "early"):
        shown.add_column(heading, justify="left" if heading in ("kernel", "hosts") else "right")
    for task in tasks:
        early = None if task.deadline is None or task.finished is None else task.deadline - task.finished
        numbers = [
            task.predicted,
            task.actual,
            _since(task.started, began),
            _since(task.finished, began),
            _since(task.deadline, began),
        ]
        shown.add_row(
            task.id,
            task.application,
            _hosts(task.hosts),
            *(_figure(value) for value in numbers),
            _figure(early),
            style="red" if early is not None and early < 0 else None,
        )
    return shown


def comparison(makespans: Mapping[str, float], bound: float, on_time: Mapping[str, int] | None = None) -> Table:
    """Return the table of makespans by policy beside the lower bound, with deadlines met where they are known."""
    caption = f"no schedule can be shorter than {bound:.1f} s; first come, first served is simulated in virtual time"
    shown = Table(title="Makespan of the same tasks", caption=caption)
    shown.add_column("policy")
    shown.add_column("seconds", justify="right")
    shown.add_column("÷ lower bound", justify="right")
    if on_time is not None:
        shown.add_column("deadlines met", justify="right")
    for policy, makespan in makespans.items():
        met = [] if on_time is None else [str(on_time[policy])]
        shown.add_row(policy, f"{makespan:.1f}", f"{makespan / bound:.2f}", *met)
    return shown


def models(derived: Mapping[str, Mapping[str, Any]], fitted: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the table of models by program, from what `derive` and `fit --derived` say in JSON."""
    caption = "counts: those of its blocks that are exact; mean error: of a size foretold by the others"
    shown = Table(title="Models", caption=caption)
    for name in ("program", "counts", "hottest block, or run time", "runs", "law", "mean error", "stated"):
        shown.add_column(name, justify="right" if name in ("counts", "runs", "mean error", "stated") else "left")
    for name, told in fitted.items():
        blocks = derived[name]["blocks"] if name in derived else []
        hottest = max(blocks, key=lambda block: float(block["share"]), default=None)
        shown.add_row(
            name,
            f"{sum(block['exact'] for block in blocks)} of {len(blocks)}" if blocks else "",
            told["formula"] if hottest is None else f"{hottest['lines']}: {hottest['formula']}",
            str(told["runs"]),
            told["law"],
            "" if told["mean_error"] is None else f"{told['mean_error']:.1%}",
            f"{told['error']:.0%}",
        )
    return shown


def predictions(runs: Mapping[str, Sequence[LearntRunView]], title: str) -> Table:
    """Return the table of what was predicted of runs and what they took, a row for each program and one for all."""
    caption = (
        "mean and bias are parts of the time taken, of the prediction at the start and of the model alone; "
        "in range: nine in ten should be"
    )
    shown = Table(title=title, caption=caption)
    for name in ("program", "runs", "taken s", "predicted s", "mean error", "bias", "in range", "model alone"):
        shown.add_column(name, justify="left" if name == "program" else "right")
    everything = [run for own in runs.values() for run in own]
    for name, own in [*runs.items(), ("all", everything)]:
        told = [run for run in own if run.predicted is not None]
        if not told:
            continue
        off = np.array([(run.predicted or 0.0) / run.seconds - 1 for run in told])
        stated = np.array([(run.stated or run.predicted or 0.0) / run.seconds - 1 for run in told])
        ranges = [run for run in told if run.low is not None and run.high is not None]
        held = sum((run.low or 0.0) <= run.seconds <= (run.high or 0.0) for run in ranges)
        shown.add_row(
            name,
            str(len(told)),
            f"{np.mean([run.seconds for run in told]):.2f}",
            f"{np.mean([run.predicted or 0.0 for run in told]):.2f}",
            f"{np.abs(off).mean():.1%}",
            f"{off.mean():+.1%}",
            f"{held} of {len(ranges)}",
            f"{np.abs(stated).mean():.1%}",
        )
    return shown


def sentence(outcome: Outcome, count: int) -> str:
    """Return the other figures of a run in words."""
    return (
        f"deadlines met: {outcome.on_time} of {count}; idle {outcome.idle:.0%}; "
        f"between one job's end and the next one's start on the same host: {outcome.handover:.1%} of the hosts' time, "
        f"{outcome.waiting:.1%} while the next one waited for its other hosts (median of the rest {outcome.gap:.2f} s)"
    )


def picture(tasks: Sequence[TaskView], began: float, connector: str, count: int = HOSTS) -> str:
    """Return the run as a Gantt chart (SVG), like Fig. 3 of the Titan paper."""
    bars = []
    for task in tasks:
        if task.started is not None and task.finished is not None:
            start, end, deadline = task.started - began, task.finished - began, _since(task.deadline, began)
            bars.append(GanttBar(task.id, task.application, task.hosts, start, end, deadline))
    hosts = sorted({host for task in tasks for host in task.hosts})
    return gantt(bars, hosts, f"{len(tasks)} tasks on {count} hosts under cosched ({connector} connector)", origin=0.0)


def kernel_profiles(orders: Sequence[KernelTask], scale: float) -> list[Profile]:
    """Return the published times of kernels."""
    return [kernel_profile(order.kernel, scale) for order in orders]


def baselines(profiles: Sequence[Profile], seed: int, hosts: int = HOSTS) -> dict[str, list[float]]:
    """Return when tasks of these times end under first come, first served, by policy, in seconds.

    Simulated in virtual time by the same core, with exact predictions and no hand-over time: better than they would do.
    """
    found = {}
    for policy in USER_COUNT_POLICIES:
        domain = SimulatedDomain(CoreSettings(instance=_INSTANCE, policy=policy, staging=0.0, seed=seed), hosts, _exact)
        for number, profile in enumerate(profiles, start=1):
            spec = TaskSpec("task", "task", ("kernel",))
            domain.post(TaskSubmitted(0.0, Task(str(number), number, 0.0, spec, profile=profile)))
        domain.run()
        ends = {run.task: run.finished for run in domain.runs}
        found[policy] = [ends[str(number)] for number in range(1, len(profiles) + 1)]
    return found


def bound(profiles: Sequence[Profile], hosts: int = HOSTS) -> float:
    """Return a number of seconds that no schedule of tasks of these times can be shorter than."""
    count = len(profiles)
    return lower_bound(
        Problem(
            tasks=tuple(str(number) for number in range(count)),
            hosts=tuple(str(number) for number in range(hosts)),
            classes=("",),
            host_class=np.zeros(hosts, dtype=np.int64),
            free=np.zeros(hosts),
            seconds=np.array([[[profile.on(number) for number in range(1, hosts + 1)] for profile in profiles]]),
            release=np.zeros(count),
            deadline=np.full(count, np.inf),
            depends_on=((),) * count,
        )
    )


def _exact(task: Task, count: int) -> float:
    assert task.profile is not None
    return task.profile.on(count)


def _since(moment: float | None, began: float) -> float | None:
    return None if moment is None else moment - began


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _hosts(names: Sequence[str]) -> str:
    """Return host names in short: the number, and where they are one run of names, from … to."""
    if len(names) < 2:
        return "".join(names)
    return f"{len(names)}: {names[0]} … {names[-1]}"
