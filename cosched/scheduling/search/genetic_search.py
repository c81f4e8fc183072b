"""The genetic search: generations of an evolution, and of the searches that take turns with it.

A chromosome is an order of the tasks and a choice for each: a host count and, on several classes, whose hosts. The
stages of a chain with several ways have the counts of one of them (`scheduling/ways.py`). The search
starts from the heuristics' plans and the last best one, so that it is never worse than any of them, and goes on for as
long as it is given generations. Each is the evolution's or another search's (see `_whose_turn`), whose better plans
join the population. The count of an elastic task is its promise: deadlines are judged by promised ends,
everything else by those that are expected with loans. Loading this module loads numba and DEAP; the first search
in a process compiles, or reads compiled code from the disk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from deap import base, tools

from cosched.errors import UserError
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.heuristics.licensed_tasks import licensed_plans
from cosched.scheduling.heuristics.packed_tasks import packed_plans
from cosched.scheduling.host_counts import single_class, with_decoded_classes, with_encoded_classes
from cosched.scheduling.mapping import dual_price
from cosched.scheduling.objective.objective import MISSED
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.packing import Packing
from cosched.scheduling.problem import Problem, Turns
from cosched.scheduling.search.class_assignment import assign_classes
from cosched.scheduling.search.elastic_promises import promised_variants
from cosched.scheduling.search.evolution import Evolution, judge_of
from cosched.scheduling.search.fresh_plans import fresh_plans_apply
from cosched.scheduling.search.initial_population import initial_plans
from cosched.scheduling.search.late_jobs import ALL_TURNS, LateJobSearch, PlanAnnealing, late_job_search_applies
from cosched.scheduling.search.squeaky_wheel import SqueakyWheel
from cosched.scheduling.time_grid import rounded_bound

if TYPE_CHECKING:
    from cosched.scheduling.objective.comparison import PlanFigures
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.search.initial_population import Population

__all__ = ["GeneticSearch", "warm_up"]

_THRESHOLDS = 6  # of the two-phase method, each with three or four lists
_PATIENCE = 400  # generations without a better plan before new blood comes in
_LINES = 1.01  # generations at a line of the logbook, as a multiple of those at the one before
_SQUEAKS = 3  # first generations, which are the squeaky wheel's
_MANY = 200  # tasks from which on it helps: of fewer, mutations soon meet those that end last


class _Cost(base.Fitness):  # type: ignore[misc]  # DEAP has no types
    weights = (-1.0,)


class _Individual:
    """A plan as DEAP's hall of fame wants it: something with a fitness."""

    def __init__(self, plan: Plan, cost: float) -> None:
        self.plan = plan
        self.fitness = _Cost((cost,))


class GeneticSearch:
    """Searches the best plan of a problem; seed and number of generations decide the result.

    Attributes:
        bound: lower bound of the makespan in seconds: the `tight_bound`, rounded up to where schedules can end, or what
            `raise_bound` has told. The objective's unit is the `lower_bound`, so that it is the same number where plans
            are judged without machine code.
        generations: done so far.
        logbook: DEAP's record: generation, evaluations, and of the population's objectives mean, standard deviation
            and minimum; a line for every step, later for every hundredth part of the generations so far.
    """

    def __init__(
        self, problem: Problem, weights: Weights | None = None, seed: int = 0, warm: Plan | None = None
    ) -> None:
        """Evaluate the seeds; `best` is the best of them from here on.

        Args:
            problem: at least one task.
            weights: weights of the objective's terms.
            seed: seed of the random numbers.
            warm: the last best plan, of every task of this problem; it is not changed.

        Raises:
            UserError: a weight is negative, or all are zero.
            ValueError: the warm plan is not of this problem, or slowdown has a weight and the problem does not say how
                long its tasks have waited.
        """
        self._problem = problem
        scale = lower_bound(problem)
        self.bound = rounded_bound(problem, tight_bound(problem, scale))
        self.generations = 0
        self._others_evaluations = 0
        self.logbook = tools.Logbook()
        self._statistics = _statistics()
        self._next_line = 0.0
        self._fame = tools.HallOfFame(1)
        self._late_jobs: LateJobSearch | None = None
        self._wheel: SqueakyWheel | None = None
        self._stale = 0
        self._best_missed: int | None = None  # by the best plan; where each counts alike, its objective says it
        self._state = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
        checked = _checked(weights or Weights())
        total = checked.makespan + checked.idle + checked.lateness + checked.slowdown
        # The least that slowdown costs, and what a second of makespan does.
        self._least = checked.slowdown / total, checked.makespan / (total * scale)
        tables = judge_of(problem).tabulate(problem, checked, scale)
        within = self.bound if _makespan_alone(problem, checked) else np.inf
        self._evolution = Evolution(problem, tables, within, self._state, _seeds(problem, warm))
        self._remember(self._evolution.seeds, 0)
        if late_job_search_applies(problem, checked):
            promised = tables.plain if problem.elastic else tables
            self._late_jobs = LateJobSearch(problem, promised, checked, scale, self._state, self._best)
        # Where deadlines come first, what they leave open is found near the best plan.
        self._begins_anew = self._late_jobs is None and fresh_plans_apply(problem)
        if _squeaks(problem):
            draw = np.random.default_rng(int(self._state[0]))
            self._wheel = SqueakyWheel(tables, self._best, self.bound, self._evolution.repair, draw)
        self._log()

    @property
    def evaluations(self) -> int:
        """Plans decoded so far."""
        return self._evolution.evaluations + self._others_evaluations

    @property
    def best(self) -> Plan:
        """The best plan found so far."""
        return with_decoded_classes(self._problem, self._best)

    @property
    def _best(self) -> Plan:
        plan: Plan = self._fame[0].plan
        return plan

    @property
    def objective(self) -> float:
        """The objective of the best plan (see `objective.objective`)."""
        return float(self._fame[0].fitness.values[0])

    @property
    def finished(self) -> bool:
        """True when no plan can be better.

        Makespan and slowdown are at their bounds then, nothing is idle and nothing is late.
        """
        slowdown, second = self._least
        return self.objective <= (slowdown + second * self.bound) * (1 + 1e-12)

    def figures(self) -> PlanFigures:
        """Return what the best plan is judged by."""
        return self._evolution.figures(self._best)

    def raise_bound(self, bound: float) -> None:
        """Take over a lower bound of the makespan, in seconds, that was proved elsewhere."""
        self.bound = max(self.bound, bound)

    def join(self, plan: Plan) -> bool:
        """Take a plan from elsewhere into the population, for the worst one there; return whether it is the best."""
        return self._join(with_encoded_classes(self._problem, plan), None)

    def step(self, generations: int = 1) -> bool:
        """Go on for some generations; return whether a better plan was found."""
        before, end = self.objective, self.generations + generations
        while self.generations < end:
            other = self._whose_turn()
            if other is None:
                self._evolve(end - self.generations if self._late_jobs is None else 1)
            else:
                self._leave_to(other)
        if self.generations >= self._next_line:
            self._log()
        return self.objective < before

    def _whose_turn(self) -> SqueakyWheel | PlanAnnealing | None:
        """Return the search that has the next generation; None for the evolution."""
        if self._wheel is not None and self.generations < _SQUEAKS:
            return self._wheel
        return None if self._late_jobs is None else self._late_jobs.turn(self.generations + 1, self._missed)

    def _leave_to(self, other: SqueakyWheel | PlanAnnealing) -> None:
        """Leave a generation to another search; the best plan that it has found so far joins the population."""
        self.generations += 1
        self._others_evaluations += other.generation()
        if other.better:
            self._join(other.best(), other)

    def _evolve(self, most: int) -> None:
        """Go on for some generations of the evolution, or until the first better plan."""
        late_jobs = self._late_jobs
        rescue = late_jobs.rescue if late_jobs is not None and late_jobs.rescues and self._missed > 0 else None
        done, best = self._evolution.run(min(most, _PATIENCE - self._stale), self.objective, rescue)
        self.generations += done
        self._stale += done
        people = self._evolution.people
        if people.costs[best] < self.objective:
            self._remember(people, best)
        elif self._stale >= _PATIENCE:
            self._stale = 0
            if self._begins_anew:
                self._evolution.begin_anew(self._best)
            else:
                self._evolution.immigrate(self._best)

    @property
    def _missed(self) -> int:
        """Deadlines that the best plan misses, where they come first."""
        if self._problem.weight is not None and self._best_missed is None:
            self._best_missed = self.figures().late
        return int(self.objective // MISSED) if self._best_missed is None else self._best_missed

    def _join(self, plan: Plan, finder: SqueakyWheel | PlanAnnealing | None) -> bool:
        """Take a plan into the population; return whether it is the best of all."""
        newcomer = self._evolution.judged([plan])
        self._evolution.join(newcomer)
        if newcomer.costs[0] >= self.objective:
            return False
        self._remember(newcomer, 0, finder)
        return True

    def _remember(self, people: Population, index: int, finder: SqueakyWheel | PlanAnnealing | None = None) -> None:
        self._stale = 0
        self._best_missed = None
        plan = people.plan(index)  # what it costs there may see more than the objective
        self._fame.update([_Individual(plan, self._evolution.objective(plan))])
        if self._late_jobs is not None:
            self._late_jobs.tell(plan, finder)

    def _log(self) -> None:
        figures = self._statistics.compile(self._evolution.people.costs)
        self.logbook.record(generation=self.generations, evaluations=self.evaluations, **figures)
        self._next_line = self.generations * _LINES


def warm_up(*, whole: bool = True, shared: bool = True, elastic: bool = True) -> None:
    """Compile all operators, or load them, before the first search.

    Args:
        whole: for tasks that have hosts for themselves.
        shared: for those that share hosts.
        elastic: for elastic ones.
    """
    # One of the two is late, though there would be time for both: the late-job search has its turn.
    seconds, due = np.array([[[np.inf, 2.0], [3.0, np.inf]]]), np.array([2.0, 4.0])
    both = Problem(
        ("wide", "long"),
        ("h1", "h2"),
        ("class",),
        host_class=np.zeros(2, dtype=np.int64),
        free=np.zeros(2),
        seconds=seconds,
        release=np.zeros(2),
        deadline=due,
        turns=Turns(np.array([0, -1]), np.array([0])),
    )
    packing = Packing(
        ("cores", "memory"),
        np.array([[2, 1000], [2, 1001]]),
        first=np.array([0, 1, 2]),
        hosts=np.array([1, 2]),
        demand=np.array([[1, 999], [2, 0]]),
        seconds=np.array([[3.0], [2.0]]),
    )
    shares = ElasticTask("long", (3.0, 2.0), least=1, most=2, preferred=1)
    mixed = replace(both, turns=None, seconds=np.array([[[np.inf, 2.0], [3.0, 2.0]]]), elastic={1: shares})
    packed = replace(both, turns=None, packing=packing)
    for wanted, each in ((shared, packed), (whole, both), (elastic, mixed)):
        if wanted:
            search = GeneticSearch(each, Weights(deadlines_first=True))
            search.step(ALL_TURNS)
            search.figures()
    if whole:
        search = GeneticSearch(replace(both, turns=None), Weights(1.0, 0.0, 0.0))
        search.step(_PATIENCE + 1)
    dual_price.warm_up()  # for bounds and seeds on several classes


def _makespan_alone(problem: Problem, weights: Weights) -> bool:
    """Return whether nothing but the makespan of identical whole hosts counts, and nobody takes turns."""
    others = weights.deadlines_first or weights.idle or weights.lateness or weights.slowdown
    plain = problem.packing is None and not problem.elastic and problem.turns is None
    return plain and not others and single_class(problem) is not None


def _squeaks(problem: Problem) -> bool:
    """Return whether many tasks share hosts, none of them is elastic, and nobody takes turns."""
    many = problem.packing is not None and len(problem.tasks) >= _MANY
    return many and not problem.elastic and problem.turns is None


def _statistics() -> tools.Statistics:
    statistics = tools.Statistics()
    for name, figure in (("mean", np.mean), ("std", np.std), ("min", np.min)):
        statistics.register(name, figure)
    return statistics


def _seeds(problem: Problem, warm: Plan | None) -> list[Plan]:
    if problem.packing is not None:
        plans = list(packed_plans(problem, problem.packing, _THRESHOLDS))
    else:
        plans = initial_plans(problem, _THRESHOLDS)
        apart = assign_classes(problem, _THRESHOLDS)
        plans += [] if apart is None else [apart]
        plans += promised_variants(problem, plans)
    plans = licensed_plans(problem, plans)
    if warm is None:
        return [with_encoded_classes(problem, plan) for plan in plans]
    spans(problem, warm)  # machine code does not look before it leaps: counts must be possible
    if sorted(warm.order.tolist()) != list(range(len(problem.tasks))):
        raise ValueError("the warm plan is not an order of all tasks")
    return [with_encoded_classes(problem, plan) for plan in (warm, *plans)]


def _checked(weights: Weights) -> Weights:
    values = (weights.makespan, weights.idle, weights.lateness, weights.slowdown)
    if not all(np.isfinite(value) and value >= 0 for value in values) or not sum(values) > 0:
        raise UserError(f"the objective's weights are {values}: give numbers of 0 or more, not all 0")
    return weights
