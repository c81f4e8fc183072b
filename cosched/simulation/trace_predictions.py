"""Predictions of a trace's jobs, made when they arrive from those that have ended by then.

Start at `trace_predictor`.
"""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from cosched.prediction.coverage import Width
from cosched.prediction.history import MOST_RUNS, Run
from cosched.prediction.learning import LearntRuns

if TYPE_CHECKING:
    from cosched.scheduling.formats.swf import RecordedJob

__all__ = ["Predictions", "TracePredictor", "trace_predictor"]

_LEAST = 1.0  # second; nothing is foretold as shorter


class Predictions(StrEnum):
    """Origin of a replay's predictions.

    RECORDED: the times that the jobs took. REQUESTED: those that users asked for, where they did. LAST_TWO: the mean
    of a user's last two jobs that ended, at most what was asked for (Tsafrir, Etsion and Feitelson 2007). RUNS: what
    the domain learns from a user's earlier jobs, by times asked for and processors; at most what was asked for.
    """

    RECORDED = "recorded"
    REQUESTED = "requested"
    LAST_TWO = "last-two"
    RUNS = "runs"


class TracePredictor(Protocol):
    """Predicts jobs one after another."""

    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        """Return low, expected and high seconds of a job that arrives; three times the same without a range."""
        ...

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        """Learn from a job that has ended, and what was foretold of it."""
        ...


def trace_predictor(predictions: Predictions) -> TracePredictor:
    """Return a predictor that knows of no job yet."""
    match predictions:
        case Predictions.RECORDED:
            return _Recorded()
        case Predictions.REQUESTED:
            return _Requested()
        case Predictions.LAST_TWO:
            return _LastTwo()
        case Predictions.RUNS:
            return _Runs()


class _Recorded:
    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        return (record.seconds,) * 3

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        """Learn nothing."""


class _Requested(_Recorded):
    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        return (record.seconds if record.requested is None else record.requested,) * 3


class _LastTwo(_Requested):
    def __init__(self) -> None:
        self._last: dict[int, list[float]] = {}

    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        asked, *_ = super().predict(record)
        last = self._last.get(record.user)
        return (min(sum(last) / len(last), asked) if last else asked,) * 3

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        del foretold
        self._last[record.user] = [*self._last.get(record.user, [])[-1:], record.seconds]


class _Runs(_Requested):
    def __init__(self) -> None:
        self._runs: defaultdict[tuple[int, int], list[Run]] = defaultdict(list)
        self._newer: defaultdict[tuple[int, int], list[Run]] = defaultdict(list)
        self._learnt: dict[tuple[int, int], LearntRuns] = {}
        self._width = Width()

    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        asked, *_ = super().predict(record)
        pool = self._known((record.user, record.executable)).stated
        if pool is None:
            return (asked,) * 3
        quantiles = pool.quantiles((asked,), [asked], [record.processors], "")
        low, median, high = (float(times[0]) for times in quantiles)
        low, high = (median * (end / median) ** self._width.factor for end in (low, high))
        expected = max(min(median, asked), _LEAST)
        return min(low, expected), expected, max(min(high, asked), expected)

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        asked, *_ = super().predict(record)
        run = Run((asked,), record.processors, "", max(record.seconds, _LEAST), stated=asked)
        self._newer[record.user, record.executable].append(run)
        low, _, high = foretold
        if low < high:
            self._width = self._width.learn(within=low <= record.seconds <= high)

    def _known(self, key: tuple[int, int]) -> LearntRuns:
        """Return what the runs of a key taught; newer ones are taken in now."""
        runs, newer, known = self._runs[key], self._newer.pop(key, []), self._learnt.get(key, LearntRuns())
        if newer:
            runs += newer
            found = known.with_runs(newer)
            self._learnt[key] = known = LearntRuns.of(runs) if found is None else found
            del runs[:-MOST_RUNS]
        return known
