"""Measure the steps of junction detection, fine and coarse, and write them as a tunable application in PSL.

    python examples/junctions/measure.py --out junctions_here.psl

Each way, a granularity of the sample with the distance that makes up for it, is run on images with known junctions, on
one process and on several. What it took and how many junctions it found fill the alternatives of the model.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from junctions import Picture, draw, examine, mark, quality, sample, strongest

from cosched.language import Source, format_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WAYS = ((1, 2), (16, 5), (64, 9), (256, 8))
"""Granularity and distance of each way, the finest first."""

STAGES = ("sample", "mark", "examine")


@dataclass
class Measured:
    """One way: the shortest time of each stage on each number of processes, in seconds, and its quality."""

    granularity: int
    distance: int
    seconds: dict[tuple[str, int], float] = field(default_factory=dict)
    qualities: list[float] = field(default_factory=list)

    def time(self, stage: str, processes: int) -> float:
        """Return the time of a stage, at least a microsecond."""
        return max(self.seconds[stage, processes], 1e-6)

    def quality(self) -> float:
        """Return the mean quality; a model has none of 0."""
        return max(float(np.mean(self.qualities)), 0.01)


def main() -> int:
    """Measure and write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("junctions_here.psl"), help="the model's file")
    parser.add_argument("--size", type=int, default=256, help="pixels of a side of an image")
    parser.add_argument("--shapes", type=int, default=16, help="shapes of four corners in an image")
    parser.add_argument("--images", type=int, default=2, help="images that are measured")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, of which the shortest counts")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="most processes")
    parser.add_argument("--slack", type=float, default=2.0, help="deadline of a stage by the slowest way's time")
    parser.add_argument("--seed", type=int, default=1, help="of the images")
    given = parser.parse_args()
    if min(given.images, given.repeats, given.processes, given.shapes) < 1 or given.size < 64 or given.slack <= 0:
        parser.error("give at least 1 image, repeat, process and shape, 64 pixels, and a slack above 0")
    if not given.out.stem.isidentifier():
        parser.error(f"--out {given.out}: an application is named after its file: use letters, digits and _")
    pictures = [draw(given.size, given.shapes, given.seed + number) for number in range(given.images)]
    ways = [Measured(granularity, distance) for granularity, distance in WAYS]
    for processes in range(1, given.processes + 1):
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(abs, range(4 * processes)))  # processes that have begun
            for way in ways:
                measure(way, pictures, pool, processes, given.repeats)
    given.out.write_text(model(given.out.stem, ways, given), encoding="utf-8")
    for way in ways:
        times = ", ".join(
            f"{stage} {' / '.join(f'{way.time(stage, count):.4f}' for count in range(1, given.processes + 1))} s"
            for stage in STAGES
        )
        print(f"granularity {way.granularity}, distance {way.distance}: quality {way.quality():.3f}; {times}")
    print(f"wrote {given.out}: `cosched model tunable {given.out}` prints the ways through it")
    return 0


def measure(
    way: Measured, pictures: Sequence[Picture], pool: ProcessPoolExecutor, processes: int, repeats: int
) -> None:
    """Run one way on all images and keep the mean over images of the shortest times."""
    totals = dict.fromkeys(STAGES, 0.0)
    for picture in pictures:
        best = dict.fromkeys(STAGES, float("inf"))
        for _ in range(repeats):
            found, times = detect(picture, way.granularity, way.distance, pool, processes)
            best = {stage: min(best[stage], times[stage]) for stage in STAGES}
        totals = {stage: totals[stage] + best[stage] for stage in STAGES}
        if processes == 1:
            way.qualities.append(quality(found, picture.junctions))
    way.seconds |= {(stage, processes): total / len(pictures) for stage, total in totals.items()}


def detect(
    picture: Picture, granularity: int, distance: int, pool: ProcessPoolExecutor, processes: int
) -> tuple[np.ndarray, dict[str, float]]:
    """Return the junctions of an image and the seconds that each step took, strips of rows side by side."""
    pixels, rows = picture.pixels, picture.pixels.shape[0]
    bounds = [rows * part // processes for part in range(processes + 1)]
    times: dict[str, float] = {}

    def timed(stage: str, work: Callable[..., np.ndarray], *columns: Sequence[Any]) -> list[np.ndarray]:
        begun = time.perf_counter()
        results = list(pool.map(work, *columns))
        times[stage] = time.perf_counter() - begun
        return results

    first, last = bounds[:-1], bounds[1:]

    def each(value: object) -> list[Any]:
        return [value] * processes

    sampled = timed("sample", sample, each(pixels), first, last, each(granularity))
    found = each(np.concatenate(sampled))
    regions = timed("mark", mark, each(pixels.shape), found, first, last, each(distance))
    examined = timed("examine", examine, each(pixels), regions, first)
    return strongest(np.concatenate(examined)), times


def model(name: str, ways: Sequence[Measured], given: argparse.Namespace) -> str:
    """Return the ways as a tunable application in PSL."""
    counts = range(1, given.processes + 1)
    due, slowest = {}, 0.0
    for stage in STAGES:
        slowest += max(way.time(stage, count) for way in ways for count in counts)
        due[stage] = given.slack * slowest

    def task(stage: str, sets: str, offered: Sequence[Measured], values: Callable[[Measured], str]) -> str:
        # How good a way is shows behind its last stage; a model multiplies the qualities of all.
        configurations = ", ".join(
            f"({{{values(way)}}}, {{{count}, {way.time(stage, count):.6f} s}}, "
            f"{way.quality() if stage == 'examine' else 1.0:.3f})"
            for way in offered
            for count in useful(way, stage, counts)
        )
        return f"task {stage} [{due[stage]:.6f} s] [{sets}] [{configurations}];"

    def select(stage: str, sets: str, values: Callable[[Measured], str]) -> str:
        arms = [f"when (granularity == {way.granularity}) {task(stage, sets, [way], values)}" for way in ways]
        return f"task_select {{ {' '.join(arms)} }}"

    body = [
        task("sample", "granularity", ways, lambda way: str(way.granularity)),
        select("mark", "distance", lambda way: str(way.distance)),
        select("examine", "", lambda _: ""),
    ]
    text = (
        f"(* {name}: junction detection in images of {given.size} x {given.size} pixels, measured by measure.py:\n"
        f"   the mean of {given.images} images, the shortest of {given.repeats} runs, seed {given.seed}.\n\n"
        "   images  how many images there are *)\n\n"
        f"application {name} {{ var numeric: images = 10 in (1, 10000); var control: granularity, distance;\n"
        f"proc tunable main {{ task_loop (images) {{ {' '.join(body)} }} }} }}\n"
    )
    return format_source(Source(f"{name}.psl", text))


def useful(way: Measured, stage: str, counts: range) -> list[int]:
    """Return the numbers of processes that are faster than all smaller ones."""
    times = [way.time(stage, count) for count in counts]
    return [count for place, count in enumerate(counts) if times[place] < min(times[:place], default=float("inf"))]


if __name__ == "__main__":
    sys.exit(main())
