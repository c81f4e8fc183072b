"""Clusters of points by k-means: kmeans.py POINTS CLUSTERS STEPS; parallel where mpi4py is, under mpirun.

The points lie around known centres, near which the search begins. Checked: all points are counted, and the centres
found are the means of the points that were drawn around each.
"""

from __future__ import annotations

import sys
import time

import numpy as np

USAGE = "kmeans: give POINTS (at least 10 a cluster), CLUSTERS and STEPS, each at least 1"


def world() -> tuple[object | None, int, int]:
    """Return the communicator, this process's rank and the number of processes."""
    try:
        from mpi4py import MPI
    except ImportError:
        return None, 0, 1
    return MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()


def draw(points: int, clusters: int, rank: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return this process's points on a plane, and the cluster that each was drawn for."""
    label = np.arange(points * rank // size, points * (rank + 1) // size) % clusters
    angle = 2 * np.pi * label / clusters
    centre = clusters * np.stack([np.cos(angle), np.sin(angle)], axis=1)  # neighbours are about 2 pi apart
    return centre + np.random.default_rng(rank).uniform(-1, 1, centre.shape), label


def sums(points: np.ndarray, label: np.ndarray, clusters: int) -> np.ndarray:
    """Return one row for each cluster: sum of x, sum of y, number of points."""
    total = [[0.0, 0.0, 0.0] for _ in range(clusters)]
    for (x, y), cluster in zip(points.tolist(), label.tolist(), strict=True):  # a loop of Python, as many programs have
        row = total[cluster]
        row[0] += x
        row[1] += y
        row[2] += 1
    return np.array(total)


def everywhere(comm: object | None, values: np.ndarray) -> np.ndarray:
    """Return the sum over all processes."""
    return values if comm is None else comm.allreduce(values)  # type: ignore[attr-defined]


def main() -> int:
    """Run the steps and print whether the centres are right."""
    try:
        count, clusters, steps = (int(word) for word in sys.argv[1:])
    except ValueError:
        sys.exit(refused())
    if min(clusters, steps) < 1 or count < 10 * clusters:
        return refused()
    comm, rank, size = world()
    begun = time.perf_counter()
    points, drawn = draw(count, clusters, rank, size)
    right = everywhere(comm, sums(points, drawn, clusters))
    wanted = right[:, :2] / right[:, 2:]
    centres = wanted * 1.1
    for _ in range(steps):
        distance = ((points[:, None] - centres) ** 2).sum(axis=2)
        found = everywhere(comm, sums(points, distance.argmin(axis=1), clusters))
        centres = found[:, :2] / np.maximum(found[:, 2:], 1)
    off = float(abs(centres - wanted).max())
    good = off < 1e-9 and int(found[:, 2].sum()) == count
    if rank == 0:
        what = f"kmeans {count} points, {clusters} clusters, {steps} steps on {size}"
        print(f"{what}: {'right' if good else 'WRONG'}, off by {off:.1e}, {time.perf_counter() - begun:.6f} s")
    return 0 if good else 1


def refused() -> int:
    """Say how the program is used."""
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
