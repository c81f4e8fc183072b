"""Documents of neighbours and of hand-overs to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import (
    HandoverView,
    PeerView,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.agents.agent import Agent
    from cosched.agents.transport.allow_list import PeerEntry
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.handovers import Handover


__all__ = ["handover_views", "peer_views"]


def peer_views(
    entries: Mapping[str, PeerEntry], faults: Mapping[str, str], agent: Agent, core: Coscheduler, time: float
) -> list[PeerView]:
    """Return all neighbours, by name."""
    known = {entry.service.domain: entry for entry in agent.entries(time)}
    views = []
    for name, entry in sorted(entries.items()):
        heard = known.get(name)
        service = None if heard is None else heard.now(time)
        classes = () if service is None else service.classes
        cores = [each.cores(service.age) for each in classes] if service else []
        views.append(
            PeerView(
                name=name,
                address=entry.address,
                role=str(entry.role),
                paused=entry.paused,
                heard=agent.last_heard.get(name),
                hosts=sum(host_class.hosts for host_class in classes),
                free=sum(free <= service.age for each in classes for free in each.times()) if service else 0,
                cores=sum(total for _, total in cores),
                free_cores=sum(free for free, _ in cores),
                hardware=tuple(host_class.hardware for host_class in classes),
                given=sum(task.status.peer == name for task in core.tasks.values()),
                taken=sum(task.origin == name for task in core.tasks.values()),
                fault=faults.get(name, ""),
            )
        )
    return views


def handover_views(handovers: Iterable[Handover]) -> tuple[HandoverView, ...]:
    """Return a task's log, oldest first."""
    return tuple(
        HandoverView(
            peer=one.peer,
            epoch=one.epoch,
            state=str(one.state),
            why=one.why,
            created=one.created,
            closed=one.closed,
            outcome=one.outcome,
        )
        for one in handovers
    )
