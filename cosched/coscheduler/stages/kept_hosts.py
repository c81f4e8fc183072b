"""Leads of whole chains keep their hosts from their first stage to their last; start at `may_begin`.

Two leads that each wait for the other's host would wait for ever. As with Dijkstra's banker, one begins only where all
of them can be brought to their ends, one after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.stages.stage import NO_WORK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["can_all_end", "kept_by_leads", "may_begin"]


def may_begin(state: CoreState, task: Task) -> bool:
    """Return whether a stage may begin with a new lead: those that stay can all come to their ends beside it."""
    if not _stays(task) or (mine := _widest_to_come(state, task)) is None:
        return True
    others = [_widest_to_come(state, state.tasks[name]) for name in kept_by_leads(state).values()]
    return can_all_end([mine, *[each for each in others if each is not None]], len(state.hosts.up()))


def can_all_end(widest: Sequence[int], hosts: int) -> bool:
    """Return whether leads can end one after another, if each keeps a host until then.

    Args:
        widest: the most hosts that each will need at once.
        hosts: how many there are.
    """
    most = len(widest) - 1  # others that keep a host while the first one has what it needs
    return all(count <= hosts - (most - place) for place, count in enumerate(sorted(widest)))


def kept_by_leads(state: CoreState) -> dict[str, str]:
    """Return the hosts of leads that stay for later stages, with their tasks."""
    found = dict[str, str]()
    for chain in state.chains():
        for task in state.chain(chain):
            lead = state.attempt_of(task.id)
            if lead is not None and lead.hosts and _stays(task) and _widest_to_come(state, task) is not None:
                found[lead.hosts[0]] = task.id
    return found


def _stays(task: Task) -> bool:
    return task.stage is not None and task.spec.elastic is not None and task.spec.elastic.whole_chain


def _widest_to_come(state: CoreState, task: Task) -> int | None:
    """Return the most hosts that a chain may need from a stage on; None where no other stage comes."""
    stage = task.stage
    assert stage is not None
    counts = list[int]()
    for each in state.chain(stage.chain):
        if (other := each.stage) is not None and other.index > stage.index:
            works = [other.ways[way].work for way in other.open]
            counts += [other.works[work].hosts for work in works if work != NO_WORK]
    return max([*counts, task.spec.count]) if counts else None
