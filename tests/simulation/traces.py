"""A small workload drawn from a seed, as a trace."""

from __future__ import annotations

import random


def swf(jobs: int, seed: int = 1, processors: int = 8) -> str:
    """Return a trace of random jobs; users ask for up to ten times what they need."""
    draw = random.Random(seed)
    lines = [f"; MaxProcs: {processors}"]
    when = 0
    for number in range(1, jobs + 1):
        when += draw.randrange(60)
        seconds = draw.randrange(1, 300)
        wide = draw.randrange(1, processors + 1)
        lines.append(
            f"{number} {when} 0 {seconds} {wide} -1 -1 {wide} {seconds * draw.randrange(1, 11)} -1 1 1 1 -1 -1 -1 -1 -1"
        )
    return "\n".join(lines)
