"""An experiment's tables for several seeds, side by side in processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from typing import TYPE_CHECKING

from cosched.simulation.experiments import NAMES, experiment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.experiment import Experiment, Row

__all__ = ["tables"]


def tables(chosen: Experiment, seeds: Sequence[int], options: Mapping[str, float], processes: int) -> list[list[Row]]:
    """Return the rows of each seed, in the order of the seeds.

    Args:
        chosen: one of `NAMES`, or another: that runs in this process.
        seeds: at least one.
        options: of the experiment.
        processes: how many at once; with 1, and for one seed, all is done in this one.
    """
    if min(processes, len(seeds)) == 1 or chosen.name not in NAMES:
        return [chosen.run(seed, options) for seed in seeds]
    with ProcessPoolExecutor(min(processes, len(seeds)), get_context("spawn")) as pool:
        return list(pool.map(partial(_rows, chosen.name), seeds, repeat(options)))


def _rows(name: str, seed: int, options: Mapping[str, float]) -> list[Row]:
    return experiment(name).run(seed, options)
