"""The documents about neighbouring domains, what was handed to them, and the network that they are."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from cosched.portal.documents import (
    AdvertisingView,
    AdviceView,
    HandoverView,
    NetworkView,
    OutlookView,
    PeerView,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.agent.agent import Agent
    from cosched.agent.peerbook import Entry
    from cosched.agent.records import Handover
    from cosched.agent.settings import Advertising
    from cosched.coscheduler.core import Coscheduler
    from cosched.service.adviser import Adviser, Counsel
    from cosched.simulation.adviser import Outlook

__all__ = ["handover_views", "network_view", "peer_views"]


def peer_views(
    entries: Mapping[str, Entry], faults: Mapping[str, str], agent: Agent, core: Coscheduler, time: float
) -> list[PeerView]:
    """Return all neighbours, by name."""
    known = {entry.service.domain: entry for entry in agent.known(time)}
    views = []
    for name, entry in sorted(entries.items()):
        heard = known.get(name)
        service = None if heard is None else heard.now(time)
        classes = () if service is None else service.classes
        views.append(
            PeerView(
                name=name,
                address=entry.address,
                role=str(entry.role),
                paused=entry.paused,
                heard=agent.heard.get(name),
                hosts=sum(host_class.hosts for host_class in classes),
                free=sum(free <= service.age for each in classes for free in each.times()) if service else 0,
                hardware=tuple(host_class.hardware for host_class in classes),
                given=sum(task.peer == name for task in core.tasks.values()),
                taken=sum(task.origin == name for task in core.tasks.values()),
                fault=faults.get(name, ""),
            )
        )
    return views


def handover_views(handovers: Iterable[Handover]) -> tuple[HandoverView, ...]:
    """Return what was done with a task, oldest first."""
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


def network_view(agent: Agent, adviser: Adviser) -> NetworkView:
    """Return what an agent has done, and what its adviser found last."""
    figures = agent.figures()
    latest = adviser.latest
    return NetworkView(
        **asdict(figures),
        letters_each=figures.letters_each,
        spreading=figures.spreading,
        advertising=_advertising(agent.settings.advertising),
        adviser=adviser.mode,
        advice=None if latest is None else _advice(latest),
        fault=adviser.fault,
    )


def _advice(counsel: Counsel) -> AdviceView:
    advice = counsel.advice
    return AdviceView(
        time=counsel.time,
        present=_advertising(advice.present),
        present_outlook=_outlook(advice.present_outlook),
        best=_advertising(advice.best),
        best_outlook=_outlook(advice.best_outlook),
        tried=advice.tried,
        tasks=advice.tasks,
        adopted=counsel.adopted,
    )


def _advertising(way: Advertising) -> AdvertisingView:
    return AdvertisingView(**asdict(way))


def _outlook(outlook: Outlook) -> OutlookView:
    return OutlookView(**asdict(outlook))
