"""The number of hosts factored into the sides of a processor grid."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["factors"]


@lru_cache(maxsize=4096)
def factors(count: int, sides: int) -> tuple[int, ...]:
    """Return `sides` factors of `count`, most nearly equal, the largest first.

    Args:
        count: at least 1.
        sides: at least 1.
    """
    if sides == 1:
        return (count,)
    candidates = ((side, *factors(count // side, sides - 1)) for side in _divisors(count))
    return min((tuple(sorted(found, reverse=True)) for found in candidates), key=lambda found: (sum(found), found))


def _divisors(count: int) -> list[int]:
    small = [side for side in range(1, math.isqrt(count) + 1) if count % side == 0]
    return small + [count // side for side in small]
