"""The network of agents as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.cli.times import shown_duration, shown_time

if TYPE_CHECKING:
    from cosched.portal.documents import AdvertisingView, AdviceView, NetworkView, OutlookView

__all__ = ["network_lines"]


def network_lines(network: NetworkView) -> list[str]:
    """Return what an agent has done, and how it is advised."""
    each = "–" if network.letters_each is None else f"{network.letters_each:.1f}"
    pairs = [
        ("since", shown_time(network.since)),
        ("offered", f"tasks {network.offered} times, {network.in_vain} of them in vain"),
        ("forwarded", f"{network.forwarded}, of which {network.came_back} came back without a run"),
        ("taken", f"{network.taken}{'' if network.hops is None else f', over {network.hops:.1f} hops on average'}"),
        ("letters", f"{each} for each task, {network.spreading} to tell and ask what is free"),
        ("known", _known(network)),
        ("advertising", _way(network.advertising)),
        ("adviser", network.adviser + (f"; {network.fault}" if network.fault else "")),
    ]
    lines = [f"{label + ':':13}{text}" for label, text in pairs if text]
    return lines if network.advice is None else [*lines, *_advice(network.advice)]


def _known(network: NetworkView) -> str:
    if network.staleness is None:
        return ""
    apart = "" if network.misjudged is None else f"; ends promised lay {shown_duration(network.misjudged)} from them"
    return f"takers were chosen by words {shown_duration(network.staleness)} old{apart}"


def _advice(advice: AdviceView) -> list[str]:
    head = f"advice:      of {shown_time(advice.time)}, {advice.tried} ways simulated on {advice.tasks} recent tasks"
    if advice.best == advice.present:
        return [head, f"  stay with  {_way(advice.present)}: {_outlook(advice.present_outlook)}"]
    verdict = "adopted" if advice.adopted else "better"
    return [
        head,
        f"  {verdict + ':':11}{_way(advice.best)}: {_outlook(advice.best_outlook)}",
        f"  instead of {_way(advice.present)}: {_outlook(advice.present_outlook)}",
    ]


def _way(way: AdvertisingView) -> str:
    told = "told" if way.push else "asked for"
    return f"{told} every {shown_duration(way.period)}, scope {way.scope}, believed for {shown_duration(way.lifetime)}"


def _outlook(outlook: OutlookView) -> str:
    return f"{100 * outlook.late:.1f} % late, {outlook.letters:.1f} letters a task"
