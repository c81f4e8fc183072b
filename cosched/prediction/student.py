"""Student's distribution, by which few runs are less sure than many."""

from __future__ import annotations

__all__ = ["NORMAL_TAIL", "t_quantile"]

NORMAL_TAIL = 1.6448536269514722
"""95 % quantile of the normal distribution, in standard deviations from its median."""


def t_quantile(freedom: int) -> float:
    """Return the 95 % quantile of Student's distribution; of less than 2 as of 2.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    normal = NORMAL_TAIL
    n = max(freedom, 2)
    first = (normal**3 + normal) / (4 * n)
    second = (5 * normal**5 + 16 * normal**3 + 3 * normal) / (96 * n**2)
    third = (3 * normal**7 + 19 * normal**5 + 17 * normal**3 - 15 * normal) / (384 * n**3)
    return normal + first + second + third
