"""Search for better advertising: other settings are simulated on the tasks seen.

Start at `advise`, a hill climb over settings; every setting meets the same tasks and the same network.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from cosched.agents.advice import AdvertisingOutcome, Advice, AdviserSnapshot
from cosched.agents.agent_settings import Peer, PeerRole
from cosched.simulation.grid import Grid, GridDomain, GridSettings, GridTask, KernelKnowledge
from cosched.simulation.network import NetworkFaults, SimulatedNetwork
from cosched.simulation.simulated_domain import Calendar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.agents.agent_settings import AdvertisingBounds, AdvertisingSettings
    from cosched.prediction.profile import Profile

__all__ = ["adjacent_settings", "advise", "simulated_outcome"]

_MOST_FOREIGN_TASKS = 200  # tasks that are drawn for the other domains
_LEAST_GAIN = 0.02  # share of the cost by which advice must be better: less is chance
_OPPOSITE_ROLE = {
    PeerRole.UPPER: PeerRole.LOWER,
    PeerRole.LOWER: PeerRole.UPPER,
    PeerRole.NEIGHBOUR: PeerRole.NEIGHBOUR,
}


def advise(situation: AdviserSnapshot, bounds: AdvertisingBounds, seconds: float) -> Advice:
    """Return the best advertising found in `seconds` of processor time."""
    until = time.process_time() + seconds
    present = situation.settings.advertising
    first = simulated_outcome(situation, present)
    known = {present: first}
    best = present
    while True:
        for settings in adjacent_settings(best, bounds):
            if settings not in known and time.process_time() < until:
                known[settings] = simulated_outcome(situation, settings)
        nearest = min(known, key=lambda settings: known[settings].cost)
        if nearest == best or time.process_time() >= until:
            break
        best = nearest
    found = min(known, key=lambda settings: known[settings].cost)
    if known[found].cost > (1 - _LEAST_GAIN) * first.cost:
        found = present
    return Advice(present, first, found, known[found], len(known), len(situation.tasks))


def adjacent_settings(settings: AdvertisingSettings, bounds: AdvertisingBounds) -> Iterator[AdvertisingSettings]:
    """Yield the settings one step away and within bounds; the lifetime changes with the period."""
    for factor in (0.5, 2.0):
        period = min(max(settings.period * factor, bounds.shortest), bounds.longest)
        yield replace(
            settings, period=period, lifetime=min(settings.lifetime * period / settings.period, bounds.lifetime)
        )
        yield replace(settings, lifetime=min(max(settings.lifetime * factor, settings.period), bounds.lifetime))
    yield replace(settings, push=not settings.push)
    for scope in (settings.scope - 1, settings.scope + 1):
        if 0 <= scope <= bounds.scope:
            yield replace(settings, scope=scope)


def simulated_outcome(
    situation: AdviserSnapshot, advertising: AdvertisingSettings, seed: int = 1
) -> AdvertisingOutcome:
    """Return the outcome for all domains where all advertise in this way."""
    profiles = {f"t{number}": seen.profile for number, seen in enumerate(situation.tasks)}
    tasks = list(_tasks(situation, seed))
    network = SimulatedNetwork(Calendar(), NetworkFaults(), seed)
    settings = GridSettings(
        policy="fcfs-calculated",
        agents=True,
        generations=0,
        agent=replace(situation.settings, advertising=advertising),
        noise=lambda _name: 1.0,
        seed=seed,
    )
    slowness = {other.hardware: other.slowness for other in situation.others} | {"": 1.0}
    grid = Grid(_domains(situation), KernelKnowledge(slowness, profiles.__getitem__), settings, network)
    runs = grid.run(tasks)
    over = [max(runs[task.name][1].finished - task.deadline, 0.0) for task in tasks]
    work = sum(profile.shortest for profile in profiles.values()) / len(profiles)
    return AdvertisingOutcome(
        late=sum(value > 0 for value in over) / len(tasks),
        lateness=sum(over) / len(tasks) / work,
        letters=network.carried / len(tasks),
    )


def _domains(situation: AdviserSnapshot) -> list[GridDomain]:
    """Return the domains: a neighbour knows us and the domains that it advertised."""
    own = situation.settings.name
    direct = [other for other in situation.others if other.via == other.name]
    domains = [GridDomain(own, situation.hosts, "", tuple(Peer(other.name, other.role) for other in direct))]
    for other in situation.others:
        if other.via == other.name:
            behind = tuple(Peer(far.name) for far in situation.others if far.via == other.name != far.name)
            peers = (Peer(own, _OPPOSITE_ROLE[other.role]), *behind)
        else:
            peers = (Peer(other.via),)
        domains.append(GridDomain(other.name, other.hosts, other.hardware, peers))
    return domains


def _tasks(situation: AdviserSnapshot, seed: int) -> Iterator[GridTask]:
    """Yield our tasks as they came, and equal ones for each other domain.

    The others' tasks load their domains as they are loaded.
    """
    seen = situation.tasks
    for number, task in enumerate(seen):
        yield GridTask(f"own-{number}", f"t{number}", situation.settings.name, task.after, task.after + task.allowance)
    duration = max(seen[-1].after, max(task.profile.shortest for task in seen))
    work = sum(
        count * task.profile.on(count) for task in seen for count in [_most_efficient_hosts(task.profile)]
    ) / len(seen)
    numbers = {other.name: other.busy * other.hosts * duration / (work * other.slowness) for other in situation.others}
    scale = min(1.0, _MOST_FOREIGN_TASKS / max(sum(numbers.values()), 1.0))
    for other in situation.others:
        draw = random.Random(f"{seed}/{other.name}")  # noqa: S311  a repeatable draw, not a secret
        fit = [place for place, task in enumerate(seen) if _fewest_hosts(task.profile) <= other.hosts]
        if not fit:
            continue
        for number, after in enumerate(_arrivals(draw, round(scale * numbers[other.name]), duration)):
            place = draw.choice(fit)
            due = after + max(seen[place].allowance, other.slowness * seen[place].profile.shortest)
            yield GridTask(f"{other.name}-{number}", f"t{place}", other.name, after, due)


def _arrivals(draw: random.Random, count: int, span: float) -> list[float]:
    """Return `count` moments of a Poisson process within a span."""
    gaps = list(accumulate(draw.expovariate(1.0) for _ in range(count + 1)))
    return [span * gap / gaps[-1] for gap in gaps[:-1]]


def _fewest_hosts(profile: Profile) -> int:
    return next(count for count, value in enumerate(profile.seconds, start=1) if math.isfinite(value))


def _most_efficient_hosts(profile: Profile) -> int:
    """Return the number of hosts that takes the least of their time."""
    counts = range(1, len(profile.seconds) + 1)
    return min((count for count in counts if math.isfinite(profile.on(count))), key=lambda n: n * profile.on(n))
