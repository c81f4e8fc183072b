"""Agents over bad networks: whatever is lost, repeated, late, cut or crashes, every accepted task runs exactly once."""

from __future__ import annotations

import random

import pytest

from cosched.agent import Peer
from tests.agent.grid import START, Faults, Grid

WORK = (40.0, 22.0, 15.0, 12.0)


def a_line(seed: int = 1, faults: Faults | None = None) -> Grid:
    """Make a — b — c: a is slow and small, c is fast and a does not know it."""
    grid = Grid(seed, faults)
    grid.add("a", 2, 1.0, [Peer("b")])
    grid.add("b", 2, 1.0, [Peer("a"), Peer("c")])
    grid.add("c", 4, 2.0, [Peer("b")])
    grid.run(START + 10.0)
    return grid


def test_what_is_on_time_here_stays() -> None:
    grid = a_line()
    grid.nodes["a"].submit("t", WORK, 100.0)
    grid.run(START + 100.0)
    assert [run[1] for run in grid.history] == ["a"]


def test_what_would_be_late_goes_where_it_is_not() -> None:
    grid = a_line()
    for number in range(4):
        grid.nodes["a"].submit(f"t{number}", WORK, 50.0)
    grid.run(START + 200.0)
    assert not grid.faults_of_history()
    assert {run[1] for run in grid.history} > {"a"}
    assert all(end <= START + 10.0 + 50.0 for _, _, _, end in grid.history)


def test_a_domain_that_is_not_a_neighbour_is_reached_through_one() -> None:
    grid = a_line()
    grid.nodes["a"].submit("t", WORK, 12.0)  # only c is fast enough
    grid.run(START + 100.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["c"]
    task = grid.nodes["a"].disk.tasks["1"]
    assert task.peer == "c"
    assert next(iter(grid.nodes["a"].disk.handovers.values())).peer == "b"
    assert "c through b" in next(iter(grid.nodes["a"].disk.handovers.values())).why


@pytest.mark.parametrize("seed", range(300))
def test_every_accepted_task_runs_exactly_once(seed: int) -> None:
    draw = random.Random(seed)
    faults = Faults(loss=draw.choice([0, 0.1, 0.4]), twice=draw.choice([0, 0.3]), delay=draw.choice([0.05, 2.0]),
                    late=draw.choice([0, 0.1]))  # fmt: skip
    grid = Grid(seed)
    names = ["a", "b", "c", "d"][: draw.choice([2, 2, 3, 4])]
    for name in names:
        node = grid.add(
            name, draw.choice([2, 4]), draw.choice([1.0, 2.0]), [Peer(peer) for peer in names if peer != name]
        )
        node.skew = draw.choice([0.0, 3600.0, -3600.0])
    grid.run(START + 3.0)
    grid.faults = faults
    grid.crash = draw.choice([0.0, 0.002, 0.01])
    for _ in range(6):
        for _ in range(draw.choice([1, 2, 4])):
            grid.nodes[draw.choice(names)].submit(f"t{len(grid.accepted)}", WORK, draw.uniform(8.0, 40.0))
        if draw.random() < 0.3:
            grid.cut = {frozenset(draw.sample(names, 2))} if draw.random() < 0.7 else set()
        grid.run(grid.time + draw.uniform(2.0, 20.0))
        for node in grid.nodes.values():
            if node.broker is None and draw.random() < 0.6:
                node.boot()
    grid.heal()
    grid.settle(900.0)
    assert not grid.faults_of_history()
