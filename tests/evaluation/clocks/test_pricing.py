from __future__ import annotations

import numpy as np

from cosched.evaluation.clocks.pricing import Prices
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND, Steps
from cosched.evaluation.costs import LinearCost, MessageCost
from cosched.evaluation.hardware import Hardware
from cosched.evaluation.layout import layout
from cosched.evaluation.sites import Site
from cosched.language import Source
from cosched.language.syntax import Position

MPI = MessageCost(
    transfer=LinearCost(100, 10, 0.1, 20, 0.2),
    send=LinearCost(100, 1, 0.01, 2, 0.02),
    receive=LinearCost(100, 3, 0.03, 4, 0.04),
)
PVM = MessageCost(*[LinearCost(0, 0, 0, 7, 0)] * 3)
PLACES = [Site(Source("x.psl", ""), Position(1, 1), group) for group in ("", "mpi", "pvm")]


def steps(*rows: tuple[int, float, int]) -> Steps:
    """Return steps of kind, amount and place."""
    kind, amount, place = zip(*rows, strict=True)
    zeros = np.zeros(len(rows), np.int64)
    return Steps.each(np.array(kind, np.int8), zeros, zeros, np.array(amount, np.float64), np.array(place, np.int32))


def test_costs_below_and_above_the_threshold() -> None:
    prices = Prices(layout(Hardware("h", {}, {"mpi": MPI}), [1]), PLACES)
    rows = steps((COMPUTE, 5, 0), (SEND, 100, 1), (SEND, 200, 1), (RECEIVE, 100, 1), (RECEIVE, 200, 1))
    own, network = prices.of(rows)
    assert own.tolist() == [5, 1 + 1, 2 + 4, 3 + 3, 4 + 8]
    assert network.tolist() == [0, 10 + 10, 20 + 40, 0, 0]
    own, network = prices.latency(rows)
    assert own.tolist() == [0, 1, 2, 3, 4]
    assert network.tolist() == [0, 10, 20, 0, 0]


def test_each_library_has_its_own_costs() -> None:
    prices = Prices(layout(Hardware("h", {}, {"mpi": MPI, "pvm": PVM}), [1]), PLACES)
    own, network = prices.of(steps((SEND, 0, 1), (SEND, 8, 2), (RECEIVE, 0, 1), (RECEIVE, 8, 2)))
    assert own.tolist() == [1, 7, 3, 7]
    assert network.tolist() == [10, 7, 0, 0]
