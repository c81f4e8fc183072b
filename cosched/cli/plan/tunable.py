"""`cosched plan` for a queue of tunable tasks: admitted tasks, their chains and places."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.cli.output import clean, console, figure, print_table
from cosched.cli.plan.text import summarise
from cosched.drawing.gantt import GanttBar
from cosched.scheduling.policies import PolicyName
from cosched.scheduling.tunable.planning import plan_tunable
from cosched.scheduling.tunable.tasks import deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.scheduling.tunable.planning import TunablePlan
    from cosched.scheduling.tunable.tasks import Chain, TunablePlacement, TunableQueue

__all__ = ["bars", "document", "show"]


def chains_beside(folder: Path) -> Callable[[str, Mapping[str, float], str, int], tuple[Chain, ...]]:
    """Return what gives the ways through applications, which are found in the library or as files in a folder."""

    @cache
    def asked(name: str, given: tuple[tuple[str, float], ...], hardware: str, hosts: int) -> tuple[Chain, ...]:
        # Loaded only where a file names an application: other plans need no models.
        from cosched.cli.model.arguments import model_folders
        from cosched.evaluation import load, load_hardware
        from cosched.language.library import is_path
        from cosched.scheduling.tunable.modelled import modelled_chains

        folders = model_folders()
        model = load(folder / name if is_path(name) else name, folders)
        wanted = hardware or model.hardware
        machine = load_hardware(wanted, folders, Path(model.file).parent) if wanted else None
        found = modelled_chains(model, machine, dict(given), hosts)
        return tuple(way.chain for way in found.chains)

    return lambda name, given, hardware, hosts: asked(name, tuple(given.items()), hardware, hosts)


def document(queue: TunableQueue) -> tuple[dict[str, Any], TunablePlan]:
    """Plan a queue; return what `--json` prints, and the plan."""
    began = time.perf_counter()
    plan = plan_tunable(queue)
    elapsed = time.perf_counter() - began
    makespan = max((placement.end for placement in plan.placements), default=0.0)
    used = sum(len(run.hosts) * (run.end - run.start) for run in plan.runs)
    bound = _bound(queue, plan)
    early = _early(queue, plan)
    limited = sum(any(math.isfinite(chain.stages[-1].deadline) for chain in task.chains) for task in queue.tasks)
    return {
        "policy": str(PolicyName.TUNABLE),
        "makespan": makespan,
        "lower_bound": bound,
        "gap": makespan / bound - 1 if bound else 0.0,
        "on_time": len(early) / limited if limited else None,
        "idle": 1 - used / (makespan * len(queue.hosts)) if makespan else 0.0,
        "average_delay": sum(early) / len(early) if early else None,
        "evaluations": sum(len(task.chains) for task in queue.tasks),
        "generations": 0,
        "elapsed": elapsed,
        "improvements": [],
        "assignments": [
            {
                "task": run.task,
                "hosts": list(run.hosts),
                "start": run.start,
                "end": run.end,
                "chain": run.chain + 1,
                "stage": run.stage + 1,
                "name": run.name,
            }
            for run in plan.runs
        ],
        "refused": list(plan.refused),
        "rule": plan.rule,
        "rules": [asdict(each) for each in plan.compared],
    }, plan


def show(found: dict[str, Any]) -> None:
    """Print the document for people."""
    rows = [
        (
            item["task"],
            str(item["chain"]),
            f"{item['stage']} {item['name']}".rstrip(),
            figure(item["start"], 6),
            figure(item["end"], 6),
            str(len(item["hosts"])),
        )
        for item in found["assignments"]
    ]
    print_table(("task", "chain", "stage", "start (s)", "end (s)", "count"), rows)
    summarise(found)
    console.print(_rules_text(found), markup=False)
    if found["refused"]:
        names = clean(", ".join(found["refused"]))
        console.print(f"refused, as no chain meets its deadlines: {names}", markup=False)


def _rules_text(found: dict[str, Any]) -> str:
    """Tell which rule was kept, and what the first others admit."""
    kept = [each for each in found["rules"] if each["rule"] == found["rule"]]
    others = [each for each in found["rules"] if each["rule"] != found["rule"]]
    texts = [f"{each['rule']} {each['admitted']} (quality {each['quality']:.4g})" for each in (*kept, *others[:4])]
    return f"admitted by rule, the first was kept: {'; '.join(texts)}"


def bars(plan: TunablePlan) -> list[GanttBar]:
    """Return the boxes of the Gantt chart; tasks are the colours."""
    return [GanttBar(f"{run.task}/{run.stage + 1}", run.task, run.hosts, run.start, run.end) for run in plan.runs]


def _bound(queue: TunableQueue, plan: TunablePlan) -> float:
    """Return a lower bound of the time when the admitted tasks have ended.

    It is the larger of the longest task and the area of all tasks.
    """
    admitted = [task for task in queue.tasks if task.id not in set(plan.refused)]
    longest = [
        task.release + min(sum(stage.seconds for stage in chain.stages) for chain in task.chains) for task in admitted
    ]
    area = sum(
        min(sum(stage.seconds * stage.hosts for stage in chain.stages) for chain in task.chains) for task in admitted
    )
    first = min((task.release for task in admitted), default=0.0)
    return max([0.0, first + area / len(queue.hosts), *longest])


def _early(queue: TunableQueue, plan: TunablePlan) -> Sequence[float]:
    """Return deadline - end of each admitted task that has a deadline."""
    release = {task.id: task.release for task in queue.tasks}
    found = [
        deadline(release[item.task], item.stages[-1], _ready(release, item)) - item.end for item in plan.placements
    ]
    return [max(value, 0.0) for value in found if math.isfinite(value)]  # below 0 is rounding


def _ready(release: Mapping[str, float], placement: TunablePlacement) -> list[float]:
    """Return when each stage of an admitted task may begin."""
    ends = [start + stage.seconds for start, stage in zip(placement.starts, placement.stages, strict=True)]
    return [release[placement.task], *ends]
