"""Run one stage of junction detection on one host: a strip of the image's rows, as cosched says in the environment.

    python examples/junctions/stage.py --granularity 16 --distance 5 --occupy 2.0

Which stage it is, of which image and on how many hosts, is in COSCHED_STAGE, COSCHED_TURN, COSCHED_RANK and
COSCHED_HOST_COUNT; what it found goes to files in its directory, named after COSCHED_CHAIN, where the next stage looks.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

_BEGUN = time.monotonic()  # loading NumPy takes a part of the stage, too

import numpy as np  # noqa: E402
from junctions import draw, examine, mark, quality, sample, strongest  # noqa: E402


def main() -> int:
    """Run the stage, and occupy the host for as long as was asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--granularity", type=int, required=True, help="one pixel of so many is sampled")
    parser.add_argument("--distance", type=int, default=0, help="pixels around a sample of interest that are examined")
    parser.add_argument("--size", type=int, default=128, help="pixels of a side of the image")
    parser.add_argument("--shapes", type=int, default=9, help="shapes of four corners in the image")
    parser.add_argument("--occupy", type=float, default=0.0, help="seconds that the stage takes at least")
    given = parser.parse_args()
    stage, turn = os.environ["COSCHED_STAGE"], int(os.environ.get("COSCHED_TURN", "0"))
    rank, count = int(os.environ["COSCHED_RANK"]), int(os.environ["COSCHED_HOST_COUNT"])
    picture = draw(given.size, given.shapes, seed=1 + turn)
    rows = picture.pixels.shape[0]
    first, last = rows * rank // count, rows * (rank + 1) // count
    place = f"{os.environ['COSCHED_CHAIN']}-{turn}"
    if stage.startswith("sample"):
        found = sample(picture.pixels, first, last, given.granularity)
    elif stage.startswith("mark"):
        found = mark(picture.pixels.shape, _parts(f"{place}-sample"), first, last, given.distance)
    else:
        if sorted(Path().glob(f"{place}-mark-*.npy")):
            region = _parts(f"{place}-mark")[first:last]
        else:  # the application has no stage that marks
            region = mark(picture.pixels.shape, _parts(f"{place}-sample"), first, last, given.distance)
        found = examine(picture.pixels, region, first)
        junctions = strongest(found)
        print(f"rows {first} to {last}: {len(junctions)} junctions, of {len(picture.junctions)} in the image")
        if count == 1:
            print(f"quality {quality(junctions, picture.junctions):.3f}")
    _write(f"{place}-{_kind(stage)}-{rank:03}", found)
    time.sleep(max(given.occupy - (time.monotonic() - _BEGUN), 0.0))
    return 0


def _kind(stage: str) -> str:
    return next((kind for kind in ("sample", "mark") if stage.startswith(kind)), "examine")


def _parts(name: str) -> np.ndarray:
    """Return what all hosts of the stage before have found, in order of their rows."""
    files = sorted(Path().glob(f"{name}-*.npy"))
    if not files:
        sys.exit(f"there is no file {name}-*.npy here: the stages of an image run in one directory")
    return np.concatenate([np.load(file) for file in files])


def _write(name: str, found: np.ndarray) -> None:
    """Write a file at once, so that no half of one is read."""
    part = Path(f"{name}.part")
    with part.open("wb") as file:
        np.save(file, found)
    part.replace(f"{name}.npy")


if __name__ == "__main__":
    sys.exit(main())
