"""Policies without harvesting: a task keeps the hosts that it starts on.

Lee and Weissman, "Adaptive Resource Scheduling for Network Services", section 5.2: IDEAL and MOLDABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.scheduling.elastic.policy import Draft, ElasticPolicy, ElasticPolicyName
from cosched.scheduling.elastic.starting import StartRule, start_in_order

if TYPE_CHECKING:
    from cosched.scheduling.elastic.tasks import Allocation, ElasticParameters, ElasticPool, ElasticProgress

__all__ = ["Ideal", "MoldableNow", "keeps_all"]


class Ideal(ElasticPolicy):
    """IDEAL."""

    name = ElasticPolicyName.IDEAL
    summary = "waits for the number of hosts with the shortest run time"
    resizes = False

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Start tasks in order of arrival on their optimal numbers of hosts."""
        draft = Draft(pool)
        start_in_order(draft, StartRule(_optimal_or_none, _optimal, keeps_all, parameters.backfill))
        return draft.allocation()


class MoldableNow(ElasticPolicy):
    """MOLDABLE."""

    name = ElasticPolicyName.MOLDABLE_NOW
    summary = "starts on the idle hosts, up to those with the shortest run time"
    resizes = False

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Start tasks in order of arrival on whatever is idle."""
        draft = Draft(pool)
        start_in_order(draft, StartRule(_as_many_as_help, _least, keeps_all, parameters.backfill))
        return draft.allocation()


def keeps_all(progress: ElasticProgress) -> int:
    """Return all hosts of a task: none may be taken."""
    return progress.task.most


def _optimal(progress: ElasticProgress) -> int:
    return progress.task.optimal


def _optimal_or_none(progress: ElasticProgress, free: int) -> int:
    optimal = progress.task.optimal
    return optimal if optimal <= free else 0


def _as_many_as_help(progress: ElasticProgress, free: int) -> int:
    return progress.task.fitting(free)


def _least(progress: ElasticProgress) -> int:
    return progress.task.least
