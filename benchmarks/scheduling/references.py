"""What is known of queues of 30 tasks on 16 hosts: the best value of any plan, and a bound that CP-SAT has proved.

Kept in `references.json`; `compute` improves it. Where both agree the value is the optimum.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.kernels import queue
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.scheduling.problem import Problem

__all__ = [
    "DEADLINES_TUNED_ON",
    "HELD_OUT",
    "HOSTS",
    "KINDS",
    "STRETCHES",
    "TASKS",
    "TUNED_ON",
    "Reference",
    "compute",
    "deadline_queue",
    "known",
    "makespan_queue",
]

TASKS, HOSTS = 30, 16
TUNED_ON = range(1, 21)
HELD_OUT = range(201, 211)
"""Seeds of queues that no setting was found on."""
DEADLINES_TUNED_ON = range(1, 6)
STRETCHES = {"tight": 0.5, "medium": 1.0, "loose": 2.0}
"""Of the deadlines' ranges, by name."""

KINDS = ("makespan", *STRETCHES)
"""What is sought: the shortest makespan, or the most tasks in time under such deadlines."""

_FILE = Path(__file__).with_name("references.json")
_SEARCHED = 3.0  # seconds that our search gets for a plan where the solver has proved nothing


@dataclass(frozen=True, slots=True)
class Reference:
    """What is known of one queue.

    Attributes:
        best: makespan in seconds, or tasks in time, of the best plan.
        bound: no plan has a shorter makespan, or more tasks in time.
        seconds: of two cores that CP-SAT had, until it had proved its plan or was stopped.
        plans: after how many of them it found each better plan, and its value.
    """

    best: int
    bound: int
    seconds: float
    plans: tuple[tuple[float, int], ...]

    @property
    def proved(self) -> bool:
        """Whether the best plan is optimal."""
        return self.best == self.bound

    def found_within(self, seconds: float) -> int | None:
        """Return the value of the plan that CP-SAT had found by then; None if none."""
        return next((value for found, value in reversed(self.plans) if found <= seconds), None)


def makespan_queue(seed: int) -> Problem:
    """Return a queue whose makespan is sought."""
    return queue(TASKS, HOSTS, seed)


def deadline_queue(seed: int, stretch: str) -> Problem:
    """Return a queue with tight, medium or loose deadlines."""
    return queue(TASKS, HOSTS, seed, deadlines=True, stretch=STRETCHES[stretch])


def known(kind: str, file: Path = _FILE) -> dict[int, Reference]:
    """Return what is known by seed; `kind` is makespan, tight, medium or loose."""
    kept = json.loads(file.read_text()).get(kind, {}) if file.exists() else {}
    return {
        int(seed): Reference(**{**values, "plans": tuple((found, value) for found, value in values["plans"])})
        for seed, values in kept.items()
    }


def compute(
    kinds: Sequence[str], seeds: Sequence[int], seconds: float, clock: Callable[[], float], file: Path = _FILE
) -> None:
    """Have CP-SAT work on each queue of which the optimum is not known, and keep what is better than before.

    Args:
        kinds: some of `KINDS`.
        seeds: of the queues; none for those of this module.
        seconds: budget on two cores for each of them.
        clock: of our search's budget.
        file: keeps what is known; written after each queue.
    """
    from benchmarks.scheduling.cp_sat import cp_sat  # loads OR-Tools

    for kind in kinds:
        for seed in seeds or (*(TUNED_ON if kind == "makespan" else DEADLINES_TUNED_ON), *HELD_OUT):
            before = known(kind, file).get(seed)
            if before is not None and before.proved:
                continue
            problem = makespan_queue(seed) if kind == "makespan" else deadline_queue(seed, kind)
            answer = cp_sat(problem, seconds, on_time=kind != "makespan")
            if answer is None:
                print(f"{kind}, seed {seed}: nothing found", flush=True)
                continue
            values, bounds = [answer.value], [answer.bound]
            if before is not None:
                values, bounds = [*values, before.best], [*bounds, before.bound]
            if answer.value != answer.bound:
                values.append(_searched(problem, kind, clock))
            best, bound = (min(values), max(bounds)) if kind == "makespan" else (max(values), min(bounds))
            print(f"{kind}, seed {seed}: {best}, bound {bound}, {answer.seconds} s", flush=True)
            _keep(kind, seed, Reference(best, bound, answer.seconds, answer.plans), file)


def _searched(problem: Problem, kind: str, clock: Callable[[], float]) -> int:
    """Return the value of our own search's plan."""
    objective = ObjectiveName.MAKESPAN if kind == "makespan" else ObjectiveName.DEADLINES_FIRST
    schedule, _ = plan(problem, PolicyName.GENETIC, Limit(_SEARCHED, clock=clock), 1, objective.weights)
    return round(schedule.makespan) if kind == "makespan" else measure(problem, schedule).on_time


def _keep(kind: str, seed: int, reference: Reference, file: Path) -> None:
    kept = json.loads(file.read_text()) if file.exists() else {}
    by_seed = {**kept.get(kind, {}), str(seed): asdict(reference)}
    kept[kind] = {each: by_seed[each] for each in sorted(by_seed, key=int)}
    entries = [f' "{key}": {_shown(value)}' for key, value in kept.items()]
    scratch = file.with_suffix(".new")
    scratch.write_text("{\n" + ",\n".join(entries) + "\n}\n")
    scratch.replace(file)


def _shown(value: str | dict[str, Any]) -> str:
    """Return JSON with a line for each queue."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "{\n" + ",\n".join(f'  "{seed}": {json.dumps(each)}' for seed, each in value.items()) + "\n }"
