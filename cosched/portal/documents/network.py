"""The network of agents: what ours has done, and what its adviser found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AdvertisingView", "AdviceView", "NetworkView", "OutlookView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvertisingView:
    """How services are told of: seconds between two advertisements, whether unasked, of domains how many hops away.

    Attributes:
        lifetime: for how many seconds what was told is believed.
    """

    period: float
    push: bool
    scope: int
    lifetime: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookView:
    """What a way of advertising led to in simulation.

    Attributes:
        late: share of the tasks that missed their deadlines.
        lateness: by how much, mean over all tasks ÷ the mean of their shortest run times.
        letters: for each task.
    """

    late: float
    lateness: float
    letters: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceView:
    """What the adviser found at `time`; `best` is `present` where nothing was clearly better.

    Attributes:
        tried: how many ways of advertising were simulated.
        tasks: how many recent tasks each of them met.
        adopted: whether the agent does it in this way since then.
    """

    time: float
    present: AdvertisingView
    present_outlook: OutlookView
    best: AdvertisingView
    best_outlook: OutlookView
    tried: int
    tasks: int
    adopted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkView:
    """What our agent has done since it began, and how it is advised.

    Attributes:
        since: when it began.
        offered: times that a task was offered around; `in_vain`: how often nobody did better.
        forwarded: hand-overs begun; `came_back`: how many ended without a run.
        taken: tasks of neighbours taken in; `hops`: domains that they had passed, mean.
        staleness: age of the advertisements by which takers were chosen, mean seconds.
        misjudged: how far the promised end lay from the one estimated by them, mean seconds.
        letters_each: letters about tasks, sent and received, for each task offered or taken in.
        spreading: letters sent to tell and to ask what is free.
        sent: letters by kind; likewise `received`.
        advertising: in force.
        adviser: off, advise or adopt.
        advice: the last; null before it.
        fault: why there is no newer advice; empty where there is none the matter.
    """

    since: float
    offered: int
    in_vain: int
    forwarded: int
    came_back: int
    taken: int
    hops: float | None
    staleness: float | None
    misjudged: float | None
    letters_each: float | None
    spreading: int
    sent: dict[str, int]
    received: dict[str, int]
    advertising: AdvertisingView
    adviser: str
    advice: AdviceView | None
    fault: str
