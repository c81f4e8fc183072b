"""Price the machines' time for independent tasks, and bound the makespan from below.

It is the dual of the linear program that spreads the work over the machines.

With a price w on a second of each machine, Σw = 1, no assignment has a makespan below Σ over the tasks of the cheapest
w·t: the makespan is at least the mean of the loads under any such weights. The best prices give the bound of the linear
program in which tasks may be split, and are found by multiplicative weights (Arora, Hazan, Kale: Theory of Computing
8(1), 2012): a machine with more than its share of the load gets dearer. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["machine_prices"]

_STEPS = 300  # within 2e-5 of the linear program's bound on 512 x 16
_RATE = 0.3  # of the first step
_DECAY = 0.1
_STEEPEST = 2.0  # a machine's excess counts at most so much, lest one step throw the others away


def machine_prices(seconds: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the best prices found, and the bound in seconds that they prove.

    Args:
        seconds: (m, N) run time of each task on each machine, infinite where it cannot run; a finite one in each row.

    Returns:
        (N,) prices, above 0 and 1 in sum; the lower bound.
    """
    prices, bound = _descend(np.ascontiguousarray(seconds, dtype=np.float64), _STEPS)
    return prices, float(bound)


@compiled
def _descend(seconds: NDArray[np.float64], steps: int) -> tuple[NDArray[np.float64], float]:
    machines = seconds.shape[1]
    logarithms, loads = np.zeros(machines), np.zeros(machines)
    prices = np.full(machines, 1.0 / machines)
    best, bound = prices.copy(), 0.0
    for step in range(steps):
        value = _cheapest_machines(seconds, prices, loads)
        if value > bound:
            bound = value
            best[:] = prices
        rate = _RATE / (1.0 + _DECAY * step)
        for machine in range(machines):
            logarithms[machine] += rate * min(loads[machine] / value - 1.0, _STEEPEST)
        highest = logarithms.max()
        for machine in range(machines):
            logarithms[machine] = max(logarithms[machine], highest - 60.0)  # exp of less could be 0, and 0·∞ is no time
            prices[machine] = np.exp(logarithms[machine] - highest)
        prices /= prices.sum()
    return best, bound


@compiled
def _cheapest_machines(seconds: NDArray[np.float64], prices: NDArray[np.float64], loads: NDArray[np.float64]) -> float:
    """Put each task where it is cheapest; fill in loads and return the total price."""
    loads[:] = 0.0
    total = 0.0
    for task in range(seconds.shape[0]):
        chosen = 0
        cheapest = prices[0] * seconds[task, 0]
        for machine in range(1, seconds.shape[1]):
            price = prices[machine] * seconds[task, machine]
            if price < cheapest:
                cheapest, chosen = price, machine
        loads[chosen] += seconds[task, chosen]
        total += cheapest
    return total
