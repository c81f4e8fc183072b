"""Policies that let running tasks have more hosts than they are promised, and take these back for tasks that wait.

`KeepPreferred` promises the number that the user prefers, `Marginal` the least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.scheduling.elastic.lending import lend_hosts
from cosched.scheduling.elastic.policy import Draft, ElasticPolicy, ElasticPolicyName
from cosched.scheduling.elastic.starting import StartRule, start_in_order

if TYPE_CHECKING:
    from cosched.scheduling.elastic.tasks import Allocation, ElasticParameters, ElasticPool, ElasticProgress

__all__ = ["KeepPreferred", "Marginal"]


class KeepPreferred(ElasticPolicy):
    """Zojer, Posner and Özden: "Evaluating Malleable Job Scheduling in HPC Clusters using Real-World Workloads" (2026).

    Their abstract says that tasks are kept "at their preferred resource allocation when possible"; the rest is read so:
    a task starts on its preferred number, or on what there is from its least on; others give it what they have beyond
    theirs; idle hosts go to those below their preferred number first, then to those with the fewest beyond it.
    """

    name = ElasticPolicyName.KEEP_PREFERRED
    summary = "tasks keep the number of hosts that they prefer, and lend out what is beyond it"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Start tasks in order of arrival, then give away what is idle."""
        draft = Draft(pool)
        start_in_order(draft, StartRule(_up_to_preferred, _least, _preferred, parameters.backfill))
        while draft.idle:
            steps = []
            for each in draft.having:
                held = draft.held(each)
                wider = each.task.wider(held)
                if wider is not None and wider - held <= draft.idle:
                    steps.append((held - each.task.preferred, each.task.id, wider))
            if not steps:
                break
            _, name, wider = min(steps)
            draft.set(draft.tasks[name], wider)
        return draft.allocation()


class Marginal(ElasticPolicy):
    """Marginal gain with payback: what cosched does by itself."""

    name = ElasticPolicyName.MARGINAL
    summary = "tasks start on their least hosts; each further one goes where it saves most, if it pays"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Start tasks in order of arrival, taking loans back, then lend what is idle."""
        draft = Draft(pool)
        start_in_order(draft, StartRule(_least_or_none, _least, _least, parameters.backfill))
        lend_hosts(draft, parameters.payback, _least)
        return draft.allocation()


def _least(progress: ElasticProgress) -> int:
    return progress.task.least


def _preferred(progress: ElasticProgress) -> int:
    return progress.task.preferred


def _least_or_none(progress: ElasticProgress, free: int) -> int:
    return progress.task.least if progress.task.least <= free else 0


def _up_to_preferred(progress: ElasticProgress, free: int) -> int:
    return progress.task.fitting(min(free, progress.task.preferred))
