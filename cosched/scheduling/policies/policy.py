"""A policy turns a problem into a schedule; this is its interface, with shared parts.

Start at `Policy`; the policies are in `batch`, `heuristic`, `mapped`, `searched` and `reshaping`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from cosched.scheduling import kernel_cache
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.search.run import Limit, SearchStatistics
from cosched.scheduling.time_grid import rounded_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.objective.comparison import SearchProgress
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["ImmediatePolicy", "PlanOptions", "Planned", "Policy", "PolicyName", "planned_at_once"]


class PolicyName(StrEnum):
    """Names of the policies, in the order in which they are listed."""

    GENETIC = "genetic"
    TITAN_CLASSIC = "titan-classic"
    HEURISTIC = "heuristic"
    TWO_PHASE = "two-phase"
    EDF = "edf"
    FCFS_ARBITRARY = "fcfs-arbitrary"
    FCFS_MAXIMUM = "fcfs-maximum"
    FCFS_CALCULATED = "fcfs-calculated"
    EASY = "easy"
    EASY_SJBF = "easy-sjbf"
    CONSERVATIVE = "conservative"
    TUNABLE = "tunable"
    MIN_MIN = "min-min"
    MAX_MIN = "max-min"
    SUFFERAGE = "sufferage"
    A_MM = "a-mm"
    A_MM_EXECUTION = "a-mm-execution"
    DUAL_PRICE = "dual-price"
    IDEAL = ElasticPolicyName.IDEAL.value
    MOLDABLE_NOW = ElasticPolicyName.MOLDABLE_NOW.value
    SRT_HARVEST = ElasticPolicyName.SRT_HARVEST.value
    IB_HARVEST = ElasticPolicyName.IB_HARVEST.value
    EQUI = ElasticPolicyName.EQUI.value
    HESRPT = ElasticPolicyName.HESRPT.value
    KEEP_PREFERRED = ElasticPolicyName.KEEP_PREFERRED.value
    SATIN = ElasticPolicyName.SATIN.value
    MARGINAL = ElasticPolicyName.MARGINAL.value


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The choices of a policy's caller.

    Attributes:
        limit: when a search ends; it ends early when the objective cannot get better.
        seed: seed of all random numbers.
        weights: weights of the genetic searches' objective; the dual-price search minimises the makespan.
        on_progress: is given the figures of each better plan as a search finds it.
        exact: let the exact partner work beside the genetic search; OR-Tools must be installed.
    """

    limit: Limit
    seed: int
    weights: Weights
    on_progress: Callable[[SearchProgress], None] | None = None
    exact: bool = False


class Planned(NamedTuple):
    """A schedule, and what it took to make it."""

    schedule: Schedule
    statistics: SearchStatistics


class Policy(ABC):
    """A way to make a schedule; the registry holds one object of each class.

    Attributes:
        name: name of the policy, as users write it.
        summary: its method, in a line.
        searched: a search beside the domain improves the domain's plan.
        online: whether it can run a domain as tasks come and go.
        served: an administrator may set it for a domain; the others run simulated ones.
        compiled: whether it needs machine code.
        one_host: whether it places independent tasks on one host each.
        packs: whether it plans tasks that share hosts.
        reshapes: whether it decides again and again how many hosts running tasks have; its schedules have pieces.
    """

    name: PolicyName
    summary: str
    searched: ClassVar[bool] = False
    online: ClassVar[bool] = False
    served: ClassVar[bool] = False
    compiled: ClassVar[bool] = False
    one_host: ClassVar[bool] = False
    packs: ClassVar[bool] = False
    reshapes: ClassVar[bool] = False

    def refuses(self, problem: Problem) -> str | None:  # noqa: ARG002  most policies plan any problem
        """Return why the policy refuses a problem, as text for users, or None."""
        return None

    def delegate(self, problem: Problem) -> PolicyName:  # noqa: ARG002  most policies plan themselves
        """Return the name of the policy that plans this problem, mostly its own."""
        return self.name

    @abstractmethod
    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Make a schedule of a problem with tasks that the policy does not refuse."""

    def ready(self) -> bool:
        """Return whether the policy can plan without compiling anything first."""
        return not self.compiled or kernel_cache.ready()


class ImmediatePolicy(Policy):
    """A policy quick enough to plan anew at every event."""

    online = True

    @abstractmethod
    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the plan; tasks that are released together are in order of arrival.

        Raises:
            UserError: a task cannot run as the policy would have it.
        """

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Make a schedule of the one plan."""
        return planned_at_once(problem, options.limit, lambda: (decode(problem, self.plan_at_once(problem)), 1))


def planned_at_once(problem: Problem, limit: Limit, make: Callable[[], tuple[Schedule, int]]) -> Planned:
    """Time a policy without a search.

    Args:
        problem: the problem to schedule.
        limit: has the clock.
        make: returns the schedule and the number of plans compared.
    """
    began = limit.clock()
    schedule, compared = make()
    elapsed = limit.clock() - began
    bound = tight_bound(problem) if kernel_cache.ready() else lower_bound(problem)  # the best without compiling
    return Planned(schedule, SearchStatistics(rounded_bound(problem, bound), compared, 0, elapsed))
