"""The registry finds policies by name for `cosched plan`, the simulator and the daemon.

A new policy is a class (see `policy.Policy`), a name in `PolicyName` and a line in `_CLASSES`. One that decides anew at
each event is made in `elastic.registry`, with a name in `PolicyName`, too.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.scheduling.elastic.registry import ELASTIC_POLICIES
from cosched.scheduling.objective.slowdown import with_waits
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies.batch import (
    Conservative,
    Easy,
    EasyShortestFirst,
    FcfsArbitrary,
    FcfsCalculated,
    FcfsMaximum,
    UserCountPolicy,
)
from cosched.scheduling.policies.heuristic import EarliestDeadlineFirst, Heuristic, Tunable, TwoPhase
from cosched.scheduling.policies.mapped import AMm, AMmExecution, MaxMin, MinMin, Sufferage
from cosched.scheduling.policies.policy import ImmediatePolicy, Planned, PlanOptions, Policy, PolicyName
from cosched.scheduling.policies.reshaping import ReshapingPolicy
from cosched.scheduling.policies.searched import DualPrice, Genetic, TitanClassic
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.scheduling.objective.comparison import SearchProgress
    from cosched.scheduling.problem import Problem

__all__ = [
    "DOMAIN_POLICIES",
    "POLICIES",
    "USER_COUNT_POLICIES",
    "ImmediatePolicy",
    "PlanOptions",
    "Planned",
    "Policy",
    "PolicyName",
    "UserCountPolicy",
    "find_policy",
    "plan",
    "refuse_misfit",
]

_CLASSES: tuple[type[Policy], ...] = (
    Genetic,
    TitanClassic,
    Heuristic,
    TwoPhase,
    EarliestDeadlineFirst,
    FcfsArbitrary,
    FcfsMaximum,
    FcfsCalculated,
    Easy,
    EasyShortestFirst,
    Conservative,
    Tunable,
    MinMin,
    MaxMin,
    Sufferage,
    AMm,
    AMmExecution,
    DualPrice,
)
_POLICIES: list[Policy] = [*[policy() for policy in _CLASSES], *map(ReshapingPolicy, ELASTIC_POLICIES.values())]
POLICIES: Mapping[PolicyName, Policy] = MappingProxyType({policy.name: policy for policy in _POLICIES})
"""Every policy by its name, in the order in which they are listed."""

DOMAIN_POLICIES = tuple(str(name) for name, policy in POLICIES.items() if policy.served)
"""Policies that [planning] policy may name, the default first."""

USER_COUNT_POLICIES = tuple(str(name) for name, policy in POLICIES.items() if isinstance(policy, UserCountPolicy))
"""First come, first served: with arbitrary, maximum and calculated host counts."""

_A_SECOND, _BALANCED = Limit(1.0), Weights()


def find_policy(name: str) -> Policy:
    """Return the policy of a name; raises UserError that lists all for an unknown one."""
    if name not in POLICIES:
        raise UserError(f"{name!r} is no policy: choose one of {', '.join(POLICIES)}")
    return POLICIES[PolicyName(name)]


def refuse_misfit(problem: Problem, policy: Policy) -> None:
    """Raise UserError where a policy does not plan such a problem."""
    refusal = policy.refuses(problem)
    if problem.running and not policy.reshapes:
        able = ", ".join(name for name, other in POLICIES.items() if other.reshapes)
        task = problem.tasks[min(problem.running)]
        refusal = f"{policy.name} plans tasks that wait, and {task} runs already: choose {able}"
    if problem.packing is not None and not policy.packs:
        able = ", ".join(name for name, other in POLICIES.items() if other.packs)
        refusal = (
            f"{policy.name} plans tasks that have their hosts for themselves, and here they share them: choose {able}"
        )
    if refusal is not None:
        raise UserError(refusal)


def plan(
    problem: Problem,
    policy: PolicyName | str = PolicyName.GENETIC,
    limit: Limit = _A_SECOND,
    seed: int = 0,
    weights: Weights = _BALANCED,
    on_progress: Callable[[SearchProgress], None] | None = None,
    *,
    exact: bool = False,
) -> Planned:
    """Make a schedule by one of the policies.

    Args:
        problem: at least one task.
        policy: its name; it may hand the problem to another, see `Policy.delegate`.
        limit: when a search ends; it ends early when the objective cannot get better.
        seed: seed of the searches and of arbitrary host counts.
        weights: weights of the genetic searches' objective; the dual-price search minimises the makespan.
        on_progress: is given each better plan's figures as a search finds it.
        exact: let the exact partner work beside the genetic search; OR-Tools must be installed.

    Returns:
        The schedule, and what it took. That of a policy that decides again and again how many hosts tasks have, as
        `marginal`, has pieces.

    Raises:
        UserError: there is no such policy, or it does not plan such problems.
    """
    problem = with_waits(problem, weights)
    chosen = find_policy(find_policy(policy).delegate(problem))
    refuse_misfit(problem, chosen)
    return chosen.plan(problem, PlanOptions(limit, seed, weights, on_progress, exact))
