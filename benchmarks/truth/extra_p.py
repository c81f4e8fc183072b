"""Extra-P (Calotoiu et al. 2013; BSD-3) beside: sums of powers and logarithms, fitted to the same runs.

It is none of this project's requirements, as it wants an older numpy and a window system. Where the package `extrap`
can be imported, the tables have a row of it: `pip install --target FOLDER --no-deps extrap pycubexr 'marshmallow<4'
tqdm packaging matplotlib contourpy cycler fonttools kiwisolver pillow pyparsing python-dateutil six scipy scikit-learn
joblib threadpoolctl`, with FOLDER at the end of PYTHONPATH. It wants sizes on a grid; drawn ones are not.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.truth.splits import Question
    from cosched.modelling.points import TimedRun

__all__ = ["INSTALLED", "extra_p"]

INSTALLED = find_spec("extrap") is not None
_FEWEST = 5  # sizes of each parameter, as its authors ask for


def extra_p(seen: Sequence[TimedRun], asked: Sequence[Question]) -> list[float | None]:
    """Return the seconds that its model foretells for each question; None where it makes none of these runs.

    Each number of processors has a model of its own: it wants five of a parameter, and there are two.
    """
    by_processors: dict[int, list[TimedRun]] = defaultdict(list)
    for run in seen:
        by_processors[run.processors].append(run)
    models = {processors: _model(runs) for processors, runs in by_processors.items()}
    return [None if (model := models.get(each.processors)) is None else model(each.parameters) for each in asked]


def _model(runs: Sequence[TimedRun]) -> Callable[[Mapping[str, float]], float | None] | None:
    names = [name for name in runs[0].parameters if len({run.parameters[name] for run in runs}) >= _FEWEST]
    if not names:
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of few points, at each
        try:
            function = _fitted(names, runs)
        except (ArithmeticError, IndexError, KeyError, ValueError):  # no line of sizes in a parameter
            return None

    def foretell(parameters: Mapping[str, float]) -> float | None:
        value = float(function([parameters[name] for name in names]))
        return value if value > 0 else None  # its sums may fall below zero

    return foretell


def _fitted(names: Sequence[str], runs: Sequence[TimedRun]) -> Callable[[Sequence[float]], Any]:
    entities = {
        word: getattr(import_module(f"extrap.entities.{word.lower()}"), word)
        for word in ("Callpath", "Coordinate", "Experiment", "Measurement", "Metric", "Parameter")
    }
    generator = import_module("extrap.modelers.model_generator").ModelGenerator
    experiment, metric, path = entities["Experiment"](), entities["Metric"]("time"), entities["Callpath"]("main")
    experiment.add_metric(metric)
    experiment.add_callpath(path)
    for number, _name in enumerate(names):
        experiment.add_parameter(entities["Parameter"](f"p{number}"))
    repeats: dict[tuple[float, ...], list[float]] = defaultdict(list)
    for run in runs:
        repeats[tuple(run.parameters[name] for name in names)].append(run.seconds)
    for place, seconds in sorted(repeats.items()):
        coordinate = entities["Coordinate"](*place)
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(entities["Measurement"](coordinate, path, metric, seconds))
    made = generator(experiment)
    made.model_all()
    evaluate: Callable[[Sequence[float]], Any] = made.models[path, metric].hypothesis.function.evaluate
    return evaluate
