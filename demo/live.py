"""The run as it goes: hosts × time, the queue, the best makespan and its gap to the lower bound."""

from __future__ import annotations

import itertools
import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cosched.api.documents import TaskRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from cosched.api.documents import PlanView, TaskView
    from cosched.client import Client
    from cosched.simulation.kernels import KernelTask

__all__ = ["kernel_requests", "run", "wide_console"]

_COLOURS = ("blue", "green", "red", "cyan", "magenta", "yellow", "bright_blue", "bright_green")  # of applications
_FINAL = ("completed", "failed", "cancelled")
_WIDTH = 72
_EVERY = 0.5  # seconds between two pictures
_SAY_EVERY = 5.0  # seconds between two lines where there is no terminal


def wide_console() -> Console:
    """Return a console that does not cut tables off where the output goes into a file."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


def kernel_requests(orders: Sequence[KernelTask], began: float) -> list[TaskRequest]:
    """Return requests of kernels whose deadlines count from `began`, epoch seconds."""
    # Some deadlines are drawn as tight as the shortest run time itself: taken in all the same, to be met if can be.
    return [
        TaskRequest(application=order.kernel, deadline=began + order.relative_deadline, best_effort=True)
        for order in orders
    ]


def run(
    client: Client, requests: Callable[[float], Sequence[TaskRequest]], console: Console
) -> tuple[float, Sequence[TaskView]]:
    """Submit tasks all at once and follow them to the end; return when they were submitted, and the tasks.

    Args:
        client: of the daemon.
        requests: makes them, given the time at which they are submitted, epoch seconds.
        console: where progress is shown.
    """
    began = time.time()
    submitted = {task.id for task in client.submit_all(requests(began))}
    return began, _follow(client, submitted, began, console)


def _follow(client: Client, submitted: Collection[str], began: float, console: Console) -> Sequence[TaskView]:
    """Show progress until every task has ended; return the tasks, oldest first.

    Args:
        client: of the daemon.
        submitted: the tasks.
        began: when they were submitted, epoch seconds.
        console: where to show it; without a terminal a line is printed now and then.
    """
    if not console.is_terminal:
        return _watch(client, submitted, _Lines(console, began).show)
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        return _watch(client, submitted, lambda tasks, plan: live.update(_picture(tasks, plan, began)))


def _watch(
    client: Client, submitted: Collection[str], show: Callable[[Sequence[TaskView], PlanView], None]
) -> Sequence[TaskView]:
    while True:
        tasks = [task for task in client.tasks(limit=1000).tasks if task.id in submitted]
        tasks.sort(key=lambda task: int(task.id))
        show(tasks, client.plan())
        if all(task.state in _FINAL for task in tasks):
            return tasks
        time.sleep(_EVERY)


class _Lines:
    def __init__(self, console: Console, began: float) -> None:
        self._console = console
        self._began = began
        self._said = float("-inf")

    def show(self, tasks: Sequence[TaskView], plan: PlanView) -> None:
        if time.monotonic() >= self._said + _SAY_EVERY:
            self._said = time.monotonic()
            self._console.print(_summary(tasks, plan, self._began))
            sys.stdout.flush()


def _summary(tasks: Sequence[TaskView], plan: PlanView, began: float) -> str:
    states = [task.state for task in tasks]
    running = states.count("running") + states.count("dispatching")
    gap = "" if plan.gap is None else f", gap to the lower bound {max(plan.gap, 0):.1%}"
    return (
        f"{plan.time - began:5.1f} s  waiting {states.count('queued'):2}  running {running:2}  "
        f"done {states.count('completed'):2}  ends at {plan.time - began + plan.makespan:5.1f} s{gap}  "
        f"({plan.evaluations:,} schedules looked at)"
    )


def _picture(tasks: Sequence[TaskView], plan: PlanView, began: float) -> Group:
    end = max(plan.time + plan.makespan, *(task.finished or began for task in tasks), began + 1.0)
    column = (end - began) / _WIDTH
    kinds = {task.id: task.application for task in tasks}
    colours = dict(zip(dict.fromkeys(sorted(kinds.values())), itertools.cycle(_COLOURS), strict=False))
    rows: dict[str, list[tuple[str, str]]] = {}

    def paint(hosts: Sequence[str], task: str, start: float, stop: float, mark: str) -> None:
        for host in hosts:
            cells = rows.setdefault(host, [(" ", "")] * _WIDTH)
            for place in range(max(int((start - began) / column), 0), min(int((stop - began) / column) + 1, _WIDTH)):
                cells[place] = (mark, colours[kinds[task]])

    for spot in plan.placements:
        if spot.task in kinds:
            paint(spot.hosts, spot.task, spot.start, spot.until, "█" if spot.running else "░")
    for task in tasks:
        if task.state == "completed" and task.started is not None and task.finished is not None:
            paint(task.hosts, task.id, task.started, task.finished, "▓")
    grid = Table.grid(padding=(0, 1))
    for host in sorted(rows):
        grid.add_row(host, Text.assemble(*rows[host]))
    legend = Text.assemble(*((f"■ {name}  ", colour) for name, colour in colours.items()))
    queue = [f"{task.id}:{task.application}" for task in tasks if task.state == "queued"]
    waiting = Text("waiting: " + (", ".join(queue) or "nobody"), overflow="ellipsis", no_wrap=True)
    marks = Text("▓ done  █ running  ░ planned   ").append(legend)
    return Group(_summary(tasks, plan, began), waiting, grid, marks)
