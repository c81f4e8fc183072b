"""Ways to foretell a run time from the same runs: those that cosched uses, and simpler ones beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from statistics import NormalDist, median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.truth.extra_p import INSTALLED, extra_p
from benchmarks.truth.splits import Question
from cosched.errors import UserError
from cosched.modelling.fitting import fit_runs
from cosched.prediction.history import FEWEST_RUNS, History, Run
from cosched.prediction.others.other_programs import KeyedRun, OtherPrograms
from cosched.prediction.pooling import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.truth.kernels import Kernel
    from cosched.modelling.fitting import Fitted
    from cosched.modelling.points import TimedRun

__all__ = ["PREDICTORS", "Foretold", "history_run", "other_programs", "predictors_beside", "stated"]

_TAIL = NormalDist().inv_cdf(0.95)
_NOMINAL = 1e-9  # seconds that a count is taken to last; what it lasts is learnt


class Foretold(NamedTuple):
    """Seconds, with the range that nine runs in ten are said to stay in; NaN where none is said."""

    seconds: float
    low: float = math.nan
    high: float = math.nan


def stated(kernel: Kernel, parameters: Mapping[str, float], processors: int) -> float:
    """Return what somebody says who knows the program's dominant count alone, and that it is divided evenly."""
    return _NOMINAL * kernel.work(parameters) / processors


def history_run(kernel: Kernel, run: TimedRun, *, counted: bool) -> Run:
    """Return a run as histories take it; each processor stands for a host."""
    foretold = stated(kernel, run.parameters, run.processors) if counted else None
    return Run(tuple(run.parameters.values()), run.processors, "", run.seconds, stated=foretold)


def other_programs(programs: Iterable[tuple[Kernel, Sequence[TimedRun]]]) -> OtherPrograms:
    """Return what programs with their runs tell of another."""
    runs = ((kernel, history_run(kernel, run, counted=True)) for kernel, found in programs for run in found)
    return OtherPrograms(
        KeyedRun(kernel.name, run.numbers, run.hosts, run.hardware, run.seconds, run.stated) for kernel, run in runs
    )


def _last(_kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question]) -> list[Foretold | None]:
    return [Foretold(seen[-1].seconds) for _ in asked]


def _nearest(_kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question]) -> list[Foretold | None]:
    def place(parameters: Mapping[str, float], processors: int) -> list[float]:
        return [math.log(value) for value in (*parameters.values(), processors)]

    def nearest(question: Question) -> TimedRun:
        here = place(question.parameters, question.processors)
        return min(seen, key=lambda run: math.dist(here, place(run.parameters, run.processors)))

    return [Foretold(nearest(question).seconds) for question in asked]


def _factor(kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question]) -> list[Foretold | None]:
    factor = median(run.seconds / stated(kernel, run.parameters, run.processors) for run in seen)
    return [Foretold(factor * stated(kernel, question.parameters, question.processors)) for question in asked]


def _history(
    kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question], others: OtherPrograms
) -> list[Foretold | None]:
    if len(seen) < FEWEST_RUNS:
        return [None] * len(asked)
    runs = [history_run(kernel, run, counted=False) for run in seen]
    learnt = History(runs, others.number(kernel.name))
    learnt.hear(others)
    found: list[Foretold | None] = []
    for question in asked:
        (middle,), (high,) = learnt.predict(tuple(question.parameters.values()), [question.processors], "")
        found.append(Foretold(float(middle), float(middle**2 / high), float(high)))
    return found


def _count_and_history(
    kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question], others: OtherPrograms
) -> list[Foretold | None]:
    if len(seen) < FEWEST_RUNS:
        return _factor(kernel, seen, asked)
    runs = [history_run(kernel, run, counted=True) for run in seen]
    learnt = Pool(runs, others.number(kernel.name))
    learnt.hear(others)
    found: list[Foretold | None] = []
    for question in asked:
        said = stated(kernel, question.parameters, question.processors)
        low, middle, high = learnt.quantiles(tuple(question.parameters.values()), [said], [question.processors], "")
        found.append(Foretold(float(middle[0]), float(low[0]), float(high[0])))
    return found


def _fit(kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question]) -> list[Foretold | None]:
    fitted = _model(kernel, seen)
    return [None if fitted is None else _said_by(fitted, question) for question in asked]


def _model(kernel: Kernel, seen: Sequence[TimedRun]) -> Fitted | None:
    try:
        return fit_runs(kernel.name, seen)
    except UserError:
        return None


def _said_by(fitted: Fitted, question: Question) -> Foretold | None:
    """Return what a model says; None beyond its limits, where a task is refused, and of other numbers of processors."""
    several, (least, *_) = fitted.points.processors_vary, fitted.seen.processors
    if not _within_limits(fitted, question.parameters) or not (several or question.processors == least):
        return None
    low, high = fitted.interval(question.parameters, question.processors)
    return Foretold(fitted.predict(question.parameters, question.processors), low, high)


def _within_limits(fitted: Fitted | None, parameters: Mapping[str, float]) -> bool:
    """Return whether a task of that size is taken with the model; without one any is."""
    limits = {} if fitted is None else {name: fitted.seen.limits(name) for name in parameters}
    return all(low <= parameters[name] <= high for name, (low, high) in limits.items())


def _model_and_history(
    kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question], others: OtherPrograms
) -> list[Foretold | None]:
    """Foretell as for a task with a model, made of the older runs and corrected by the newer.

    Each is half of them. Of other numbers of processors, and where there is no model, its count with the factor of
    these runs says it. What is beyond the model's limits is no such task.
    """
    older, newer = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    fitted = _model(kernel, older) if len(older) >= FEWEST_RUNS else None
    newer = [run for run in newer if _within_limits(fitted, run.parameters)]
    if len(older) < FEWEST_RUNS or len(newer) < FEWEST_RUNS:
        return [None] * len(asked)

    def said(question: Question) -> Foretold:
        (counted,) = _factor(kernel, older, [question])
        assert counted is not None, "a count says something of any size"
        return (fitted and _said_by(fitted, question)) or counted

    runs = [history_run(kernel, run, counted=False) for run in newer]
    times = [said(Question(run.parameters, run.processors)) for run in newer]
    runs = [replace(run, stated=model.seconds) for run, model in zip(runs, times, strict=True)]
    learnt = Pool(runs, others.number(kernel.name))
    learnt.hear(others)
    told: list[Foretold | None] = []
    for question in asked:
        if not _within_limits(fitted, question.parameters):
            told.append(None)
            continue
        model, numbers = said(question), tuple(question.parameters.values())
        unsure = None if math.isnan(model.high) else [math.log(model.high / model.seconds) / _TAIL]
        low, middle, high = learnt.quantiles(numbers, [model.seconds], [question.processors], "", unsure=unsure)
        told.append(Foretold(float(middle[0]), float(low[0]), float(high[0])))
    return told


def _extra_p(_kernel: Kernel, seen: Sequence[TimedRun], asked: Sequence[Question]) -> list[Foretold | None]:
    return [None if seconds is None else Foretold(seconds) for seconds in extra_p(seen, asked)]


def predictors_beside(
    others: OtherPrograms,
) -> dict[str, Callable[[Kernel, Sequence[TimedRun], Sequence[Question]], list[Foretold | None]]]:
    """Return the ways by the names that tables show; those that cosched uses know of other programs."""
    return {
        "last run": _last,
        "nearest run": _nearest,
        "count × factor": _factor,
        "history": partial(_history, others=others),
        "count + history": partial(_count_and_history, others=others),
        "model fit": _fit,
        "model + history": partial(_model_and_history, others=others),
        **({"Extra-P": _extra_p} if INSTALLED else {}),
    }


PREDICTORS = tuple(predictors_beside(OtherPrograms(())))
"""Their names."""
