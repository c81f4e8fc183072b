"""Independent tasks on heterogeneous machines, drawn as by Braun et al. (JPDC 61(6), 2001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.formats.etc_file import parse_etc

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["BEST_KNOWN", "TUNED_ON", "matrix"]

BEST_KNOWN = {
    "u_c_hihi.0": 7358942.75,
    "u_c_hilo.0": 152812.21,
    "u_c_lohi.0": 238649.00,
    "u_c_lolo.0": 5135.70,
    "u_i_hihi.0": 2924720.02,
    "u_i_hilo.0": 73202.14,
    "u_i_lohi.0": 101526.98,
    "u_i_lolo.0": 2533.38,
    "u_s_hihi.0": 4080153.45,
    "u_s_hilo.0": 95553.27,
    "u_s_lohi.0": 121000.92,
    "u_s_lolo.0": 3419.39,
}
"""Best makespans that we know of, by matrix: the loads of the solutions that Gogos et al. (Future Generation Computer
Systems, 2016) keep beside the matrices (github.com/chgogos/hcsp, folder 512x16)."""

TUNED_ON = frozenset({"u_c_hihi.0", "u_i_hilo.0", "u_s_lohi.0", "u_i_lolo.0"})
"""Those that the settings of the price search were found on."""


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
