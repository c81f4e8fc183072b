"""Least squares with coefficients that are not negative."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["nnls"]

_MOST_TURNS = 30  # times the number of columns
_TOLERANCE = 1e-12


def nnls(columns: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the x >= 0 that solves `columns @ x = wanted` by least squares.

    Lawson and Hanson, Solving Least Squares Problems, 1974, algorithm NNLS. Columns are scaled to length 1 meanwhile;
    one of zeros gets 0.

    Args:
        columns: shape (equations, unknowns).
        wanted: shape (equations,).
    """
    lengths = np.sqrt((columns**2).sum(axis=0))
    matrix = columns / np.where(lengths > 0, lengths, 1.0)
    usable = lengths > 0
    found = np.zeros(columns.shape[1])
    active = np.zeros(columns.shape[1], bool)
    least = _TOLERANCE * max(float(np.abs(matrix.T @ wanted).max(initial=0.0)), np.finfo(float).tiny)
    for _ in range(_MOST_TURNS * max(len(found), 1)):
        slope = np.where(active | ~usable, -np.inf, matrix.T @ (wanted - matrix @ found))
        if slope.max(initial=-np.inf) <= least:
            break
        active[int(slope.argmax())] = True
        while active.any():
            best = np.zeros(len(found))
            best[active] = np.linalg.lstsq(matrix[:, active], wanted, rcond=None)[0]
            if (best[active] > 0).all():
                found = best
                break
            falling = active & (best <= 0)
            step = (found[falling] / np.maximum(found[falling] - best[falling], np.finfo(float).tiny)).min()
            found = np.where(active, found + step * (best - found), 0.0)
            active &= found > _TOLERANCE * found.max(initial=0.0)
            found[~active] = 0.0
    return found / np.where(usable, lengths, 1.0)
