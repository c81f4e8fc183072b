"""Points are divided into clusters, by loops in plain Python: `kmeans.py POINTS CLUSTERS TURNS`."""

from __future__ import annotations

import random
import sys
from itertools import pairwise

Point = tuple[float, float]


def assigned(points: list[Point], centres: list[Point]) -> tuple[list[int], float]:
    """Return the nearest centre of each point, and the sum of the squares of their distances."""
    found = []
    total = 0.0
    for x, y in points:
        best, where = 1e300, -1
        for place, (left, top) in enumerate(centres):
            distance = (x - left) ** 2 + (y - top) ** 2
            if distance < best:
                best, where = distance, place
        found.append(where)
        total += best
    return found, total


def main() -> int:
    """Divide points drawn at random; 1 if a turn makes things worse."""
    count, clusters, turns = (int(word) for word in sys.argv[1:4])
    generator = random.Random(1)
    points = [(generator.random(), generator.random()) for _ in range(count)]
    centres = points[:clusters]
    totals = []
    for _ in range(turns):
        nearest, total = assigned(points, centres)
        totals.append(total)
        for place in range(clusters):
            mine = [point for point, where in zip(points, nearest, strict=True) if where == place]
            if mine:
                centres[place] = (sum(x for x, _y in mine) / len(mine), sum(y for _x, y in mine) / len(mine))
    print(f"{totals[-1]:g}")
    return int(any(later > before * (1 + 1e-12) for before, later in pairwise(totals)))


if __name__ == "__main__":
    sys.exit(main())
