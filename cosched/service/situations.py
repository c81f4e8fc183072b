"""From what the daemon knows to what its adviser simulates."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from cosched.agent.settings import Role
from cosched.simulation.adviser import Observed, Seen, Situation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.agent import Knowledge, Peer
    from cosched.agent.agent import Agent
    from cosched.agent.capability import Entry
    from cosched.agent.service import Service
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

__all__ = ["FEWEST", "Known", "known", "situation"]

FEWEST = 10
"""Tasks below which nothing is advised: so few say little of those to come."""

_WINDOW = 3600.0  # seconds: of older tasks nothing is simulated
_COMPARED = 20  # tasks by whose models hardware is compared

Known = tuple["dict[str, Peer]", "list[Entry]", int]
"""Neighbours, what is known of domains, and the number of our hosts, of one moment."""


def known(agent: Agent, core: Coscheduler, time: float) -> Known:
    """Return what only the thread of the core may read."""
    return agent.usable(), agent.known(time), len(core.domain.hosts)


def situation(agent: Agent, found: Known, tasks: Sequence[Task], knowledge: Knowledge, time: float) -> Situation | None:
    """Return what is to be simulated; None where there are too few tasks, or nobody but us.

    Args:
        agent: ours.
        found: see `known`.
        tasks: the newest first.
        knowledge: how long tasks take on other hardware.
        time: now, epoch seconds.
    """
    peers, entries, hosts = found
    own = [
        task for task in reversed(tasks) if not task.origin and task.deadline is not None and task.profile is not None
    ]
    own = [task for task in own if task.submitted >= own[-1].submitted - _WINDOW]
    others = tuple(
        _observed(entry, peers, own, knowledge, hosts, time)
        for entry in entries
        if entry.via in peers and any(each.hosts for each in entry.service.classes)
    )
    if len(own) < FEWEST or not others or not hosts:
        return None
    began = own[0].submitted
    seen = tuple(
        Seen(task.submitted - began, task.deadline - task.submitted, replace(task.profile, classes=()))
        for task in own
        if task.deadline is not None and task.profile is not None
    )
    return Situation(agent.settings, hosts, seen, others)


def _observed(
    entry: Entry, peers: Mapping[str, Peer], tasks: Sequence[Task], knowledge: Knowledge, hosts: int, time: float
) -> Observed:
    service = entry.now(time)
    largest = max(service.classes, key=lambda each: each.hosts)
    role = peers[entry.via].role if service.domain == entry.via else Role.NEIGHBOUR
    slowness = _slowness(tasks, knowledge, largest.hardware, largest.hosts, hosts)
    return Observed(
        service.domain,
        entry.via,
        role,
        sum(each.hosts for each in service.classes),
        largest.hardware,
        slowness,
        _busy(service),
    )


def _busy(service: Service) -> float:
    times = [after for each in service.classes for after in each.times()]
    return sum(1 for after in times if after > service.age) / len(times)


def _slowness(tasks: Sequence[Task], knowledge: Knowledge, hardware: str, there: int, here: int) -> float:
    """Return run time on other hardware ÷ ours, as far as it is known by now; 1 where it is not."""
    ratios = []
    for task in tasks[-_COMPARED:]:
        document = knowledge.document(task, here)
        profile = None if document is None else knowledge.profile(document, hardware, min(there, here))
        if profile is not None and task.profile is not None and math.isfinite(profile.shortest):
            ours = task.profile.limited(min(there, here)).shortest
            ratios.append(profile.shortest / ours)
    return median(ratios) if ratios else 1.0
