"""The adviser of an agent network: tries other ways of advertising on what was seen, in virtual time.

It runs the very agents of the daemon over a simulated network: this domain with its recent tasks, the domains that it
knows with their hosts, each as busy with tasks of the same kind as it advertises to be. Every way that is tried meets
the same tasks and the same network. It climbs: of the ways one step from the best known the cheapest is the next.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from cosched.agent.settings import Peer, Role
from cosched.simulation.calendar import Calendar
from cosched.simulation.grid import Grid, GridTask, Middleware, Site
from cosched.simulation.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.agent.settings import Advertising, AgentSettings, Bounds
    from cosched.prediction.profile import Profile

__all__ = ["Advice", "Observed", "Outlook", "Seen", "Situation", "advise", "around", "outlook"]

_MOST_OTHERS = 200  # tasks that are drawn for the other domains
_LETTER = 1e-3  # what a letter for each task costs; a late task costs 1
_GAIN = 0.02  # share of the cost by which advice must be better: less is chance
_UPSIDE = {Role.UPPER: Role.LOWER, Role.LOWER: Role.UPPER, Role.NEIGHBOUR: Role.NEIGHBOUR}


@dataclass(frozen=True, slots=True)
class Seen:
    """A task that was submitted here.

    Attributes:
        after: seconds after the first.
        allowance: deadline - submission, seconds.
        profile: predicted on our hosts.
    """

    after: float
    allowance: float
    profile: Profile


@dataclass(frozen=True, slots=True)
class Observed:
    """Another domain as it is known here.

    Attributes:
        name: of the domain.
        via: the neighbour that told of it; itself: it is one.
        role: of that neighbour.
        hosts: how many.
        hardware: of most of them.
        slowness: run time there ÷ here, as models have it; 1 where nothing is known.
        busy: share of its hosts that are taken, as it advertised.
    """

    name: str
    via: str
    role: Role
    hosts: int
    hardware: str
    slowness: float
    busy: float


@dataclass(frozen=True, slots=True)
class Situation:
    """What was seen, and how it works now.

    Attributes:
        settings: of our agent.
        hosts: of this domain.
        tasks: oldest first.
        others: domains.
    """

    settings: AgentSettings
    hosts: int
    tasks: tuple[Seen, ...]
    others: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a way of advertising led to.

    Attributes:
        late: share of the tasks that missed their deadlines.
        lateness: by how much the tasks missed them, mean ÷ the mean of their shortest run times.
        letters: for each task, those that tell and ask of services among them.
    """

    late: float
    lateness: float
    letters: float

    @property
    def cost(self) -> float:
        """In units of a late task."""
        return self.late + self.lateness + _LETTER * self.letters


@dataclass(frozen=True, slots=True)
class Advice:
    """What came of trying.

    Attributes:
        present: how it is done.
        present_outlook: what that led to.
        best: the best that was tried; `present` where nothing was clearly better.
        best_outlook: what that led to.
        tried: how many ways.
        tasks: how many tasks each of them met.
    """

    present: Advertising
    present_outlook: Outlook
    best: Advertising
    best_outlook: Outlook
    tried: int
    tasks: int

    @property
    def changes(self) -> bool:
        """Whether anything else is advised than what is done."""
        return self.best != self.present


def advise(situation: Situation, bounds: Bounds, seconds: float) -> Advice:
    """Return the best way that was found in so many seconds of processor time."""
    until = time.process_time() + seconds
    present = situation.settings.advertising
    first = outlook(situation, present)
    known = {present: first}
    best = present
    while True:
        for way in around(best, bounds):
            if way not in known and time.process_time() < until:
                known[way] = outlook(situation, way)
        nearest = min(known, key=lambda way: known[way].cost)
        if nearest == best or time.process_time() >= until:
            break
        best = nearest
    found = min(known, key=lambda way: known[way].cost)
    if known[found].cost > (1 - _GAIN) * first.cost:
        found = present
    return Advice(present, first, found, known[found], len(known), len(situation.tasks))


def around(way: Advertising, bounds: Bounds) -> Iterator[Advertising]:
    """Give the ways that are one step from this one and within bounds; a period changes with its cache's life."""
    for factor in (0.5, 2.0):
        period = min(max(way.period * factor, bounds.shortest), bounds.longest)
        yield replace(way, period=period, lifetime=min(way.lifetime * period / way.period, bounds.lifetime))
        yield replace(way, lifetime=min(max(way.lifetime * factor, way.period), bounds.lifetime))
    yield replace(way, push=not way.push)
    for scope in (way.scope - 1, way.scope + 1):
        if 0 <= scope <= bounds.scope:
            yield replace(way, scope=scope)


def outlook(situation: Situation, way: Advertising, seed: int = 1) -> Outlook:
    """Return what all domains' tasks and letters come to where all advertise in this way."""
    profiles = {f"t{number}": seen.profile for number, seen in enumerate(situation.tasks)}
    tasks = list(_tasks(situation, seed))
    calendar = Calendar()
    network = Network(calendar, seed=seed)
    middleware = Middleware(
        policy="fcfs-calculated",
        agents=True,
        generations=0,
        agent=situation.settings.advertised(way),
        noise=lambda _name: 1.0,
    )
    slowness = {other.hardware: other.slowness for other in situation.others} | {"": 1.0}
    grid = Grid(_sites(situation), slowness, middleware, network, calendar, seed, profiles.__getitem__)
    runs = grid.run(tasks)
    over = [max(runs[task.name][1].finished - task.deadline, 0.0) for task in tasks]
    work = sum(profile.shortest for profile in profiles.values()) / len(profiles)
    return Outlook(
        late=sum(value > 0 for value in over) / len(tasks),
        lateness=sum(over) / len(tasks) / work,
        letters=network.carried / len(tasks),
    )


def _sites(situation: Situation) -> list[Site]:
    """Return the domains: a neighbour knows us and those that it told of."""
    own = situation.settings.name
    direct = [other for other in situation.others if other.via == other.name]
    sites = [Site(own, situation.hosts, "", tuple(Peer(other.name, other.role) for other in direct))]
    for other in situation.others:
        if other.via == other.name:
            behind = tuple(Peer(far.name) for far in situation.others if far.via == other.name != far.name)
            peers = (Peer(own, _UPSIDE[other.role]), *behind)
        else:
            peers = (Peer(other.via),)
        sites.append(Site(other.name, other.hosts, other.hardware, peers))
    return sites


def _tasks(situation: Situation, seed: int) -> Iterator[GridTask]:
    """Give our tasks as they came, and for each other domain as many of their kind as keep it as busy as it is."""
    seen = situation.tasks
    for number, task in enumerate(seen):
        yield GridTask(f"own-{number}", f"t{number}", situation.settings.name, task.after, task.after + task.allowance)
    span = max(seen[-1].after, max(task.profile.shortest for task in seen))
    work = sum(count * task.profile.on(count) for task in seen for count in [_least_work(task.profile)]) / len(seen)
    wanted = {other.name: other.busy * other.hosts * span / (work * other.slowness) for other in situation.others}
    scale = min(1.0, _MOST_OTHERS / max(sum(wanted.values()), 1.0))
    for other in situation.others:
        draw = random.Random(f"{seed}/{other.name}")  # noqa: S311  a repeatable draw, not a secret
        fit = [place for place, task in enumerate(seen) if _fewest(task.profile) <= other.hosts]
        if not fit:
            continue
        for number, after in enumerate(_arrivals(draw, round(scale * wanted[other.name]), span)):
            place = draw.choice(fit)
            due = after + max(seen[place].allowance, other.slowness * seen[place].profile.shortest)
            yield GridTask(f"{other.name}-{number}", f"t{place}", other.name, after, due)


def _arrivals(draw: random.Random, count: int, span: float) -> list[float]:
    """Return so many moments of a Poisson process within a span."""
    gaps = list(accumulate(draw.expovariate(1.0) for _ in range(count + 1)))
    return [span * gap / gaps[-1] for gap in gaps[:-1]]


def _fewest(profile: Profile) -> int:
    return next(count for count, value in enumerate(profile.seconds, start=1) if math.isfinite(value))


def _least_work(profile: Profile) -> int:
    """Return the number of hosts that takes the least of their time."""
    counts = range(1, len(profile.seconds) + 1)
    return min((count for count in counts if math.isfinite(profile.on(count))), key=lambda n: n * profile.on(n))
