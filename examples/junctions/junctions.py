"""Detect junctions of images in three steps: sample pixels, mark regions, examine every pixel of them.

The steps are those of Chang, Karamcheti and Kedem, "Exploiting Application Tunability for Efficient, Predictable
Parallel Resource Management", section 3.2; images and measures are ours. One pixel in each `granularity` is sampled;
a coarser sample is made up for by regions of a larger `distance` around what it found.

Each step takes a strip of the image and the rows around it, so that several processes share an image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MARGIN = 16
"""Rows and columns around an image without junctions, which windows may reach into."""

_REACH = 3  # pixels around a sampled one that are compared with it
_CONTRAST = 0.15  # of intensities that differ, in an image of 0 to 1
_FEWEST = 1  # samples of interest near one another that make a region
_WINDOW = 5  # pixels around one that decide whether it is a junction
_CORNER = 0.8  # least second strength of edges around a junction
_TOLERANCE = 4.0  # pixels that a junction may be found beside its place


@dataclass(frozen=True)
class Picture:
    """An image and the junctions that it was drawn with.

    Attributes:
        pixels: (rows, columns) intensities from 0 to 1, with a margin of `MARGIN` on each side.
        junctions: (n, 2) row and column of each corner.
    """

    pixels: np.ndarray
    junctions: np.ndarray


def draw(size: int, shapes: int, seed: int) -> Picture:
    """Return `size` by `size` pixels with shapes of four corners, each in a cell of its own, and some noise."""
    generator = np.random.default_rng(seed)
    side = size + 2 * MARGIN
    row, column = np.mgrid[0:side, 0:side].astype(float)
    pixels, corners = np.full((side, side), 0.5), []
    cells = int(np.ceil(np.sqrt(shapes)))
    width = size / cells
    for number in range(shapes):
        centre = MARGIN + width * (np.array(divmod(number, cells)) + 0.5)
        radius, turn = width * generator.uniform(0.2, 0.4), generator.uniform(0, np.pi)
        angles = turn + np.pi / 2 * np.arange(4) + generator.uniform(-0.2, 0.2, 4)
        ends = centre + radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
        inside = np.ones((side, side), dtype=bool)
        for (r0, c0), (r1, c1) in zip(ends, np.roll(ends, -1, axis=0), strict=True):
            inside &= (c1 - c0) * (row - r0) >= (r1 - r0) * (column - c0)
        pixels[inside] = generator.choice([0.0, 1.0])
        corners.append(ends)
    noisy = np.clip(pixels + generator.normal(0, 0.02, pixels.shape), 0, 1)
    return Picture(noisy, np.concatenate(corners))


def sample(pixels: np.ndarray, first: int, last: int, granularity: int) -> np.ndarray:
    """Return (n, 2) sampled pixels of interest in rows `first` to `last`: those whose neighbours differ."""
    step = max(round(np.sqrt(granularity)), 1)
    rows = np.arange(MARGIN, pixels.shape[0] - MARGIN, step)
    rows = rows[(rows >= first) & (rows < last)]
    row, column = np.meshgrid(rows, np.arange(MARGIN, pixels.shape[1] - MARGIN, step), indexing="ij")
    lowest = highest = pixels[row, column]
    for down in range(-_REACH, _REACH + 1):
        for right in range(-_REACH, _REACH + 1):
            near = pixels[row + down, column + right]
            lowest, highest = np.minimum(lowest, near), np.maximum(highest, near)
    found = highest - lowest > _CONTRAST
    return np.stack([row[found], column[found]], axis=1)


def mark(shape: tuple[int, ...], points: np.ndarray, first: int, last: int, distance: int) -> np.ndarray:
    """Return which pixels of rows `first` to `last` have enough samples of interest within a distance."""
    counts = np.zeros((shape[0] + 1, shape[1] + 1))
    np.add.at(counts, (points[:, 0] + 1, points[:, 1] + 1), 1)
    sums = counts.cumsum(axis=0).cumsum(axis=1)
    rows, columns = np.arange(first, last), np.arange(shape[1])
    low, high = np.clip(rows - distance, 0, shape[0]), np.clip(rows + distance + 1, 0, shape[0])
    left, right = np.clip(columns - distance, 0, shape[1]), np.clip(columns + distance + 1, 0, shape[1])
    near = sums[np.ix_(high, right)] - sums[np.ix_(low, right)] - sums[np.ix_(high, left)] + sums[np.ix_(low, left)]
    return near >= _FEWEST


def examine(pixels: np.ndarray, region: np.ndarray, first: int) -> np.ndarray:
    """Return (n, 3) row, column and strength of the junctions in a region, which begins at row `first`.

    The strength is the smaller eigenvalue of the structure tensor of the pixel's window: how strong edges of a second
    direction are there.
    """
    inner = np.zeros_like(region)
    inner[:, MARGIN:-MARGIN] = region[:, MARGIN:-MARGIN]
    row, column = np.nonzero(inner)
    row += first
    usable = (row >= MARGIN) & (row < pixels.shape[0] - MARGIN)
    row, column = row[usable], column[usable]
    tensor = np.zeros((3, len(row)))
    for down in range(-_WINDOW, _WINDOW + 1):
        for right in range(-_WINDOW, _WINDOW + 1):
            r, c = row + down, column + right
            weight = np.exp(-(down**2 + right**2) / (0.5 * _WINDOW**2))
            vertical, horizontal = pixels[r + 1, c] - pixels[r - 1, c], pixels[r, c + 1] - pixels[r, c - 1]
            tensor += weight * np.stack([vertical**2, horizontal**2, vertical * horizontal])
    mean, half = (tensor[0] + tensor[1]) / 2, (tensor[0] - tensor[1]) / 2
    strength = mean - np.sqrt(half**2 + tensor[2] ** 2)
    strong = strength > _CORNER
    return np.stack([row[strong], column[strong], strength[strong]], axis=1)


def strongest(found: np.ndarray) -> np.ndarray:
    """Return (n, 2) places of the junctions that are the strongest for some pixels around."""
    kept: list[np.ndarray] = []
    for candidate in found[np.argsort(-found[:, 2])]:
        if all(np.abs(candidate[:2] - other).max() > 2 * _WINDOW for other in kept):
            kept.append(candidate[:2])
    return np.array(kept).reshape(-1, 2)


def quality(found: np.ndarray, true: np.ndarray) -> float:
    """Return the F-measure of junctions found: the harmonic mean of precision and recall, 0 to 1."""
    if not len(found) or not len(true):
        return 0.0
    distance = np.sqrt(((found[:, np.newaxis] - true) ** 2).sum(axis=2))
    precision = float((distance.min(axis=1) <= _TOLERANCE).mean())
    recall = float((distance.min(axis=0) <= _TOLERANCE).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
