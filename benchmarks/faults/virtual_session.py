"""Domains run in virtual time over a network that loses and repeats letters.

They have the daemon's own brokers and cores. Daemons are killed between any two steps, cores fail, and clocks differ
by an hour. At the end the history that the managers keep says whether every accepted task ran exactly once. Ten
sessions take a second or two.
"""

from __future__ import annotations

import random
import time

from benchmarks.faults.results import Session
from cosched.agents import Peer
from tests.agents.grid import START, Faults, Grid

__all__ = ["KINDS", "run"]

KINDS = ("letter lost", "letter repeated", "letter late", "letter cut off", "daemon killed", "mistake of the core")
_WORK = (40.0, 22.0, 15.0, 12.0)


def run(seed: int) -> Session:
    """Let some tasks come while faults of all kinds do, then heal and check."""
    began, draw = time.monotonic(), random.Random(seed)
    faults = Faults(
        loss=draw.choice([0, 0.1, 0.4]),
        twice=draw.choice([0, 0.3]),
        delay=draw.choice([0.05, 2.0]),
        late=draw.choice([0, 0.1]),
    )
    grid, names = Grid(seed), ["a", "b", "c", "d"][: draw.choice([2, 2, 3, 4])]
    _add_nodes(grid, names, draw, line=seed % 3 == 0)
    grid.run(START + 3.0)
    grid.faults = faults
    grid.crash = draw.choice([0.0, 0.002, 0.01])
    grid.mistake = (0.0, 0.005)[seed % 2]
    for _ in range(6):
        for _ in range(draw.choice([1, 2, 4])):
            grid.nodes[draw.choice(names)].submit(f"t{len(grid.accepted)}", _WORK, draw.uniform(8.0, 40.0))
        if draw.random() < 0.3:
            grid.cut = {frozenset(draw.sample(names, 2))} if draw.random() < 0.7 else set()
        grid.run(grid.time + draw.uniform(2.0, 20.0))
        for node in grid.nodes.values():
            if node.broker is None and draw.random() < 0.6:
                node.boot()
    grid.heal()
    grid.settle(900.0)
    seconds = round(time.monotonic() - began, 1)
    return Session("virtual", seed, dict(+grid.done), len(grid.accepted), seconds, tuple(grid.faults_of_history()))


def _add_nodes(grid: Grid, names: list[str], draw: random.Random, *, line: bool) -> None:
    """Add neighbours of all, or a line of them, those in the middle of which run nothing for others."""
    for place, name in enumerate(names):
        known = names[max(place - 1, 0) : place + 2] if line else names
        node = grid.add(
            name, draw.choice([2, 4]), draw.choice([1.0, 2.0]), [Peer(peer) for peer in known if peer != name]
        )
        node.refuses = "nothing is run for others here" if line and 0 < place < len(names) - 1 else ""
        node.skew = draw.choice([0.0, 3600.0, -3600.0])
