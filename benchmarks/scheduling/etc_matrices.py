"""Independent tasks on heterogeneous machines, drawn as by Braun et al. (JPDC 61(6), 2001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.formats.etc_file import parse_etc

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["BEST_KNOWN", "matrix"]

BEST_KNOWN = {
    "u_c_hihi.0": 7358942.8,
    "u_i_hilo.0": 73202.1,
    "u_s_lohi.0": 121000.9,
    "u_i_lolo.0": 2533.4,
}
"""Makespans of four of their matrices, from Gogos et al. (Future Generation Computer Systems, 2016)."""


def matrix(tasks: int, machines: int, seed: int) -> Problem:
    """Return an inconsistent matrix with high task and machine heterogeneity: U(1, 3000) for a task times U(1, 1000).

    Every other machine of an odd seed's matrix is consistently faster than the next such one.
    """
    draw = np.random.default_rng(seed)
    times = draw.uniform(1, 3000, (tasks, 1)) * draw.uniform(1, 1000, (tasks, machines))
    if seed % 2:
        times[:, ::2] = np.sort(times[:, ::2], axis=1)
    lines = [f"{tasks} {machines}", *[" ".join(f"{value:.6f}" for value in row) for row in times]]
    return parse_etc("\n".join(lines))
