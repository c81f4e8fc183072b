"""The search policies run until their limit; numba is loaded when a search begins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.exact.accompanied import AccompaniedSearch
from cosched.scheduling.exact.partner import ExactPartner
from cosched.scheduling.mapping import etc_mapping
from cosched.scheduling.policies.policy import Planned, Policy, PolicyName
from cosched.scheduling.search.run import run_search

if TYPE_CHECKING:
    from cosched.scheduling.policies.policy import PlanOptions
    from cosched.scheduling.problem import Problem

__all__ = ["DualPrice", "Genetic", "TitanClassic"]

_GENERATIONS = 10  # between two looks at the clock
_HEAD_START = 0.1  # seconds of search before its exact partner begins: most easy problems are solved by then


class Genetic(Policy):
    """The genetic search, which begins with the heuristics' plans."""

    name = PolicyName.GENETIC
    summary = "the genetic search, from the heuristics' plans; ends early when nothing can be better"
    searched = online = served = compiled = packs = True

    def delegate(self, problem: Problem) -> PolicyName:
        """Delegate to the dual-price search where a problem equals an ETC matrix."""
        return PolicyName.DUAL_PRICE if etc_mapping.is_etc_matrix(problem) else self.name

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Search for the plan with the least objective."""
        from cosched.scheduling.search.elastic_search import ElasticSearch  # loads numba and DEAP
        from cosched.scheduling.search.genetic_search import GeneticSearch, warm_up

        shared, elastic = problem.packing is not None, bool(problem.elastic)
        warm_up(whole=not shared or elastic, shared=shared, elastic=elastic)
        if options.exact and not problem.elastic:  # of loans the exact partner knows nothing
            return self._plan_exactly(problem, options)
        kind = ElasticSearch if problem.elastic else GeneticSearch
        search, statistics = run_search(
            lambda: kind(problem, options.weights, options.seed),
            options.limit,
            options.on_progress,
            _GENERATIONS,
        )
        return Planned(decode(problem, search.best), statistics)

    def _plan_exactly(self, problem: Problem, options: PlanOptions) -> Planned:
        """Search with the exact partner at work beside."""
        from cosched.scheduling.search.genetic_search import GeneticSearch  # loads numba and DEAP

        partner = ExactPartner()

        def begin() -> AccompaniedSearch:
            search = GeneticSearch(problem, options.weights, options.seed)
            return AccompaniedSearch(problem, search, partner, _HEAD_START, options.limit.seconds)

        try:
            search, statistics = run_search(begin, options.limit, options.on_progress, _GENERATIONS)
        finally:
            partner.close()
        return Planned(decode(problem, search.best), statistics)


class TitanClassic(Policy):
    """Titan's genetic algorithm, reconstructed for comparison."""

    name = PolicyName.TITAN_CLASSIC
    summary = "Titan's genetic algorithm, reconstructed, for comparison"
    searched = online = compiled = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuse hosts that come and go, and licences, which Titan did not know."""
        if problem.licences is not None:
            return "titan-classic knows no licences, and tasks ask for some: choose another policy"
        gone = [period.host for period in problem.unavailability] + np.flatnonzero(np.isinf(problem.free)).tolist()
        if not gone:
            return None
        host = problem.hosts[gone[0]]
        return (
            f"titan-classic knows no hosts that come and go, or are reserved, and {host} is such: choose another policy"
        )

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Search from a random start."""
        from cosched.scheduling.search import titan_classic  # loads numba

        titan_classic.warm_up()
        search, statistics = run_search(
            lambda: titan_classic.TitanClassicSearch(problem, options.weights, options.seed),
            options.limit,
            options.on_progress,
        )
        return Planned(search.schedule, statistics)


class DualPrice(Policy):
    """The dual-price search for independent tasks; its objective is the makespan."""

    name = PolicyName.DUAL_PRICE
    summary = "independent tasks: prices on the machines, then annealing; ends early when nothing can be better"
    compiled = one_host = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuse tasks that are not independent or cannot run on one host."""
        return etc_mapping.misfit(problem, self.name)

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Search for the mapping with the shortest makespan."""
        from cosched.scheduling.mapping.dual_price import DualPriceSearch, warm_up  # loads numba

        seconds = etc_mapping.single_host_seconds(problem)
        warm_up()
        search, statistics = run_search(
            lambda: DualPriceSearch(seconds, options.seed, problem.deadline), options.limit, options.on_progress
        )
        schedule = etc_mapping.mapped_schedule(problem, search.machine, search.order)
        return Planned(schedule, replace(statistics, bound=tight_bound(problem)))  # its own is of one host a task
