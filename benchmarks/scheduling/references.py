"""What is known of queues of 30 tasks on 16 hosts: the best value of any plan, and the best bound proved.

Kept in `references.json`; `compute` improves it. Where both agree the value is the optimum. The peer, CP-SAT, works on
each queue; of makespans then also the search, with its exact partner, which proves more than the peer does.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.kernels import queue
from benchmarks.scheduling.proving import findings
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.search.genetic_search import GeneticSearch
from cosched.scheduling.search.run import Limit, run_search

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
_SEARCHED = 3.0  # seconds that our search gets for a plan where the solver has not proved its own
_EVEN = 0.95  # of the seconds asked for: what the solver had before counts as so many


@dataclass(frozen=True, slots=True)
class Reference:
    """What is known of one queue.

    Attributes:
        best: makespan in seconds, or tasks in time, of the best plan.
        bound: no plan has a shorter makespan, or more tasks in time.
        seconds: of two cores that the peer had, until it had proved its plan or was stopped.
        plans: after how many of them the peer found each better plan, and its value.
    """

    best: int
    bound: int
    seconds: float
    plans: tuple[tuple[float, int], ...]

    def with_others(self, kind: str, bests: Sequence[int], bounds: Sequence[int]) -> Reference:
        """Return this with the best of other plans' values and bounds."""
        shortest, longest = (min, max) if kind == "makespan" else (max, min)
        best, bound = shortest([self.best, *bests]), longest([self.bound, *bounds])
        return replace(self, best=best, bound=bound)

    @property
    def proved(self) -> bool:
        """Whether the best plan is optimal."""
        return self.best == self.bound

    def found_within(self, seconds: float) -> int | None:
        """Return the value of the plan that the peer had found by then; None if none."""
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
    kinds: Sequence[str],
    seeds: Sequence[int],
    seconds: tuple[float, float],
    clock: Callable[[], float],
    file: Path = _FILE,
    *,
    anew: bool = False,
) -> None:
    """Work on each queue of which the optimum is not known, and keep what is better than before.

    Args:
        kinds: some of `KINDS`.
        seeds: of the queues; none for those of this module.
        seconds: for each of them, of two cores that the peer has, unless it had as many before; then of one that the
            exact partner has for a proof of the shortest makespan.
        clock: of our search's budget.
        file: keeps what is known; written after each queue.
        anew: ask the peer again, also about queues whose optimum is known: its model has changed, or its version.
    """
    peers, partners = seconds
    for kind in kinds:
        for seed in seeds or (*(TUNED_ON if kind == "makespan" else DEADLINES_TUNED_ON), *HELD_OUT):
            before = known(kind, file).get(seed)
            if before is not None and before.proved and not anew:
                continue
            problem = makespan_queue(seed) if kind == "makespan" else deadline_queue(seed, kind)
            reference = before
            if before is None or anew or before.seconds < _EVEN * peers:
                reference = _asked(problem, kind, before, peers)
            if reference is None:
                print(f"{kind}, seed {seed}: nothing found", flush=True)
                continue
            if not reference.proved:
                reference = _searched(problem, kind, reference, partners, clock)
            print(f"{kind}, seed {seed}: {reference.best}, bound {reference.bound}", flush=True)
            _keep(kind, seed, reference, file)


def _asked(problem: Problem, kind: str, before: Reference | None, seconds: float) -> Reference | None:
    """Return what the peer adds to what was known; None where it finds nothing and nothing was."""
    from benchmarks.scheduling.peers.cp_sat import cp_sat  # loads OR-Tools

    answer = cp_sat(problem, seconds, on_time=kind != "makespan")
    if answer is None:
        return before
    found = Reference(answer.value, answer.bound, answer.seconds, answer.plans)
    return found if before is None else found.with_others(kind, [before.best], [before.bound])


def _searched(problem: Problem, kind: str, before: Reference, seconds: float, clock: Callable[[], float]) -> Reference:
    """Return what our own search and, of the makespan, its exact partner add to what was known."""
    if kind != "makespan":
        schedule, _ = plan(
            problem, PolicyName.GENETIC, Limit(_SEARCHED, clock=clock), 1, ObjectiveName.DEADLINES_FIRST.weights
        )
        return before.with_others(kind, [measure(problem, schedule).on_time], [])
    search, _ = run_search(
        lambda: GeneticSearch(problem, ObjectiveName.MAKESPAN.weights, seed=1), Limit(_SEARCHED, clock=clock)
    )
    bests, bounds = [search.figures().makespan], [max(search.bound, before.bound)]
    for _, finding in findings(problem, search.best, bounds[0], seconds):
        bounds.append(finding.bound)
        if finding.plan is not None:
            bests.append(max(spans(problem, finding.plan)[1]))
        if min(*bests, before.best) <= finding.bound:
            break  # the plan known before may be shorter than the partner's
    return before.with_others(kind, [round(each) for each in bests], [round(each) for each in bounds])


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
