"""Sentences about elastic tasks: which hosts they have been lent, and who takes them back, why and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.task import AttemptState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["lent_sentences", "worker_sentences"]

_NAMED = 5


def worker_sentences(core: Coscheduler, task: Task, lead: Attempt) -> list[str]:
    """Say of a running elastic task which hosts are promised and lent, and what its workers wait for."""
    if lead.lead is None or task.spec.elastic is None:
        return []
    workers = core.workers_of(task.id)
    lent = [each for each in workers if each.loan and not each.leaves]
    found = [f"its promised hosts: {_names(lead.reckoned_hosts)}"]
    if lent:
        found.append(f"lent to it, until they are needed: {_names([each.hosts[0] for each in lent])}")
    found += [f"it gives {each.hosts[0]} back: {each.reason}" for each in workers if each.loan and each.leaves]
    if task.spec.elastic.needs_lead and not lead.lead.address and lead.state is AttemptState.RUNNING:
        found.append("its workers wait for the address of its lead, which it has not told")
    work = core.elastic.work(task.id)
    if work is not None and work.setbacks:
        found.append(f"{work.setbacks} of its workers in a row ended soon and by themselves: others are tried later")
    return found


def lent_sentences(core: Coscheduler, hosts: Collection[str]) -> list[str]:
    """Say which of the hosts that a waiting task will use are lent, and to which tasks."""
    found: dict[str, list[str]] = {}
    for attempt in core.attempts.values():
        if attempt.loan and attempt.hosts[0] in hosts:
            found.setdefault(attempt.task, []).append(attempt.hosts[0])
    return [f"{_names(sorted(lent))}, lent to task {task}: what is needed comes back" for task, lent in found.items()]


def _names(hosts: Sequence[str]) -> str:
    named = ", ".join(hosts[:_NAMED])
    return named if len(hosts) <= _NAMED else f"{named} and {len(hosts) - _NAMED} more"
