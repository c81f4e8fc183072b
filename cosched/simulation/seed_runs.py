"""An experiment runs for several seeds, side by side in processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from typing import TYPE_CHECKING

from cosched.simulation.experiments import EXPERIMENT_NAMES, load_experiment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.experiment import Experiment, ResultRow

__all__ = ["tables_by_seed"]


def tables_by_seed(
    experiment: Experiment, seeds: Sequence[int], options: Mapping[str, float], processes: int
) -> list[list[ResultRow]]:
    """Return the rows of each seed, in the order of the seeds.

    Args:
        experiment: one of `EXPERIMENT_NAMES`, or another that runs in this process alone.
        seeds: at least one.
        options: options of the experiment.
        processes: number of processes at once; with 1, or for one seed, all is done in this one.
    """
    by_name = experiment.name in EXPERIMENT_NAMES and load_experiment(experiment.name) is experiment
    if min(processes, len(seeds)) == 1 or not by_name:
        return [experiment.run(seed, options) for seed in seeds]
    with ProcessPoolExecutor(min(processes, len(seeds)), get_context("spawn")) as pool:
        return list(pool.map(partial(_rows_of_seed, experiment.name), seeds, repeat(options)))


def _rows_of_seed(name: str, seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    return load_experiment(name).run(seed, options)
