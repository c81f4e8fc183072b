"""Documents of other domains: what is exchanged with them, and the agents' network."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AdvertisingView", "AdviceView", "ExchangeView", "NetworkView", "OutlookView", "PeerView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerView:
    """A neighbouring domain.

    Attributes:
        role: "neighbour", "upper" or "lower".
        paused: nothing new is exchanged with it.
        heard: when it was heard of last; null: not since the daemon started.
        hosts: how many it advertises, and how many of them are wholly `free` now by what it said.
        cores: of its hosts where tasks share them, and how many of these are free now (`free_cores`); 0 elsewhere.
        hardware: resource models of its hosts.
        given: our tasks that it has.
        taken: its tasks that we have.
        fault: why it cannot be reached; empty while it can.
    """

    name: str
    address: str
    role: str
    paused: bool
    heard: float | None
    hosts: int
    free: int
    hardware: tuple[str, ...]
    given: int
    taken: int
    fault: str
    cores: int = 0
    free_cores: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeView:
    """A task that went to a neighbouring domain, or came from one.

    Attributes:
        direction: "sent" or "received".
        time: when it went or came.
        state: of the hand-over where it was sent ("committing", "held", "granted", "ended", "refused", "returned",
            "reclaimed"), else of the task here.
        closed: when it ended; null while it goes on.
        why: the reason for the choice, where it was sent, then how it ended.
    """

    peer: str
    direction: str
    task: str
    name: str
    owner: str
    time: float
    state: str
    closed: float | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvertisingView:
    """A way of advertising: seconds between advertisements, unasked or not, hops they go.

    Attributes:
        lifetime: for how many seconds what was told is believed.
    """

    period: float
    push: bool
    scope: int
    lifetime: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookView:
    """Results of one way of advertising in simulation.

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
    """Findings of the adviser at `time`; `best` is `present` where nothing was clearly better.

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
    """Figures of our agent since it began, and the advice for it.

    Attributes:
        since: when it began.
        offered: times that a task was offered around; `in_vain`: how often no domain did better.
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
