"""`make demo DEMO_OPTIONS=--real`: programs that compute, of which nobody wrote a model, planned towards deadlines.

The machine is measured, the programs are watched, models are fitted to their runs; then tasks of all programs are
submitted, and what was predicted is compared with what they took.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from cosched.prediction.profile import PredictionSource, Profile
from demo import report
from demo.live import run
from demo.models import CHECKED, Workshop
from demo.programs import built, interpreter
from demo.site import Site
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from cosched.api.documents import LearntRunView, TaskDetail
    from cosched.client import Client
    from demo.programs import RealProgram

__all__ = ["TASKS", "draw_requests", "main"]

TASKS = 24
_HOSTS = 2  # of one processor each
_OUTPUT = Path("demo-output")
_LATEST = 1.3  # deadlines go to so many times the shortest makespan that could be
_NUMBERS_OF_HOSTS = (None, None, None, "1", "2")  # drawn for parallel programs; None: as many as are best


@dataclass(frozen=True, slots=True)
class _Draw:
    """A task that is to be submitted: its program, the values of its parameters, and its deadline from submission."""

    program: RealProgram
    values: Mapping[str, int]
    hosts: str | None
    deadline: float = 0.0

    def request(self, began: float) -> TaskRequest:
        late = began + self.deadline if self.deadline else None
        return TaskRequest(
            application=self.program.name,
            parameters=dict(self.values),
            hosts=self.hosts,
            deadline=late,
            best_effort=True,
        )


def main(connector: str, tasks: int, scale: float, seed: int, console: Console) -> None:
    """Run the demonstration; exits with 1 where a task did not complete or its result was wrong.

    Args:
        connector: local, condor or slurm.
        tasks: how many.
        scale: of the programs' numbers of steps.
        seed: of the draw of sizes, host counts and deadlines.
        console: where progress is shown.
    """
    if connector == "simulated":
        raise SystemExit("nothing runs on a simulated pool: choose local, condor or slurm for --real")
    begun = time.monotonic()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="cosched-real-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        workshop = Workshop(folder, _HOSTS, console)
        programs = _models(workshop, connector, scale)
        site = stack.enter_context(Site(connector, scale=1.0, hosts=_HOSTS, settings=workshop.settings))
        client = stack.enter_context(site.client())
        site.settle()
        console.print(f"\nfirst runs on {_HOSTS} hosts, {connector} connector: three of each program", style="bold")
        _, first = run(client, lambda _began: [draw.request(0.0) for draw in _first_draws(programs)], console)
        console.print(f"\n{tasks} tasks with deadlines", style="bold")
        draws = draw_requests(client, programs, tasks, seed)
        began, views = run(client, lambda began: [draw.request(began) for draw in draws], console)
        done = [client.task(task.id) for task in views]
        wrong = [fault for task in (*first, *views) if (fault := _fault(client, task.id))]
        learnt = [
            run for name in sorted({program.name for program in programs}) for run in client.learnt_runs(name, 1000)
        ]
    console.print(report.table(done, began))
    _report(done, began, learnt, connector, console, seed)
    console.print(f"all in all {time.monotonic() - begun:.0f} s; load of the machine now {os.getloadavg()[0]:.1f}")
    if wrong:
        raise SystemExit("\n".join(wrong))


def draw_requests(client: Client, programs: Sequence[RealProgram], count: int, seed: int) -> list[_Draw]:
    """Draw tasks of all programs in turn: sizes, numbers of hosts, and deadlines around what can be met.

    A deadline is uniform between the shortest predicted time of its task and the time in which all could have ended.
    """
    source = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret
    draws = [_drawn(programs[number % len(programs)], source) for number in range(count)]
    source.shuffle(draws)
    profiles = [_times(client, draw) for draw in draws]
    latest = _LATEST * report.bound(profiles, _HOSTS)
    return [
        replace(draw, deadline=source.uniform(profile.shortest, max(latest, 2 * profile.shortest)))
        for draw, profile in zip(draws, profiles, strict=True)
    ]


def _drawn(program: RealProgram, source: random.Random) -> _Draw:
    hosts = source.choice(_NUMBERS_OF_HOSTS) if program.parallel else None
    return _Draw(program, program.drawn(source), hosts)


def _models(workshop: Workshop, connector: str, scale: float) -> list[RealProgram]:
    """Build the programs, measure the machine, and make models and a catalogue; return the programs."""
    console = workshop.console
    found, missing = built(workshop.programs)
    console.print(f"built {', '.join(program.name for program in found)}")
    for line in missing:
        console.print(line, markup=False)
    try:
        interpreter(connector)
    except PackageError as obstacle:
        console.print(f"without programs in Python: {obstacle}", markup=False)
        found = [program for program in found if not program.interpreted]
    programs = [program.scaled(scale) for program in found]
    console.print("\ncosched hardware measure node --quick", style="bold")
    workshop.measure()
    console.print("\ncosched model derive, model observe, model fit --derived, of each program", style="bold")
    begun = time.monotonic()
    derived = {program.name: workshop.derive(program) for program in programs if program.toys}
    counted = time.monotonic()
    workshop.observe(programs)
    watched = time.monotonic()
    fitted = {program.name: workshop.fit(program) for program in programs}
    times = counted - begun, watched - counted, time.monotonic() - watched
    console.print("derived in {:.0f} s, watched in {:.0f} s, fitted in {:.0f} s".format(*times))
    console.print(report.models(derived, fitted))
    for program in programs:
        workshop.enter(program, connector)
    return programs


def _first_draws(programs: Sequence[RealProgram]) -> list[_Draw]:
    """Return short runs of each program, which teach the daemon what starting it takes here."""
    found = []
    for program in programs:
        for number, values in enumerate(program.first()):
            hosts = ("1", str(_HOSTS))[number % 2] if program.parallel else None
            found.append(_Draw(program, values, hosts))
    return found


def _times(client: Client, draw: _Draw) -> Profile:
    """Return what the daemon predicts of a task that has no deadline."""
    told = client.foresee(draw.request(0.0)).profile
    assert told is not None
    return _profile(told.seconds)


def _profile(seconds: Sequence[float | None]) -> Profile:
    times = [float("inf") if value is None else value for value in seconds]
    return Profile((*times, *[float("inf")] * (_HOSTS - len(times))), PredictionSource.MODEL)


def _taken(task: TaskDetail) -> Profile:
    """Return a task's predicted times, as much longer or shorter as it turned out."""
    assert task.profile is not None
    told = _profile(task.profile.seconds)
    return told.scaled((task.actual or 0.0) / told.on(task.count)) if task.actual else told


def _fault(client: Client, task_id: str) -> str | None:
    """Return why a task did not complete, or that its result is wrong; None where all is well."""
    task, found = client.task(task_id), client.output(task_id, "out")
    printed = found.data.decode(errors="replace") if found else ""
    if task.state == "completed":
        return None if f": {CHECKED}," in printed else f"task {task_id}, {task.name}: its result is wrong: {printed}"
    said = client.output(task_id, "err")
    last = said.data.decode(errors="replace").strip().splitlines()[-1:] if said else []
    return f"task {task_id}, {task.name}, {task.state}: {task.reason} {' '.join(last)}".rstrip()


def _report(
    tasks: Sequence[TaskDetail],
    began: float,
    learnt: Sequence[LearntRunView],
    connector: str,
    console: Console,
    seed: int,
) -> None:
    by_task = {run.task: run for run in learnt}
    runs: dict[str, list[LearntRunView]] = {}
    for task in sorted(tasks, key=lambda task: task.application):
        if task.id in by_task:
            runs.setdefault(task.application, []).append(by_task[task.id])
    console.print(report.predictions(runs, "Predicted and taken"))
    outcome, profiles = report.measure(tasks, began, _HOSTS), [_taken(task) for task in tasks]
    ends = report.baselines(profiles, seed, _HOSTS)
    due = [(task.deadline or float("inf")) - began for task in tasks]
    makespans = {"cosched": outcome.makespan, **{policy: max(own) for policy, own in ends.items()}}
    met = {policy: sum(end <= late for end, late in zip(own, due, strict=True)) for policy, own in ends.items()}
    bound = report.bound(profiles, _HOSTS)
    console.print(report.comparison(makespans, bound, {"cosched": outcome.on_time, **met}))
    console.print(report.sentence(outcome, len(tasks)))
    _OUTPUT.mkdir(exist_ok=True)
    picture = _OUTPUT / f"gantt-real-{connector}.svg"
    picture.write_text(report.picture(tasks, began, connector, _HOSTS))
    figures = _OUTPUT / f"figures-real-{connector}.json"
    kept = {**asdict(outcome), "bound": bound, "makespans": makespans, "on_time_of": met}
    figures.write_text(json.dumps({**kept, "runs": [asdict(run) for own in runs.values() for run in own]}, indent=2))
    console.print(f"picture: {picture}, figures: {figures}")
