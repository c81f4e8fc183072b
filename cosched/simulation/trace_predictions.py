"""Predictions of a trace's jobs, made when they arrive from those that have ended by then.

Start at `trace_predictor`. Only `Predictions.RECORDED` knows how long a job will take; everything else knows what its
user asked for and the jobs that have ended.
"""

from __future__ import annotations

import math
from collections import defaultdict
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Protocol

from cosched.prediction.coverage import Width
from cosched.prediction.history import MOST_RUNS, Run
from cosched.prediction.learning import LearntRuns

if TYPE_CHECKING:
    from cosched.scheduling.formats.swf import RecordedJob

__all__ = ["AskedTimes", "PassedPrediction", "Predictions", "TracePredictor", "trace_predictor"]

_LEAST = 1.0  # second; nothing is foretold as shorter
_INCREMENTS = (60.0, 300.0, 900.0, 1800.0, *(3600.0 * hours for hours in (1, 2, 5, 10, 20, 50, 100)))
_UNKNOWN = 3600.0  # seconds; of a job of which nobody said anything, before the first has ended


class Predictions(StrEnum):
    """Origin of a replay's predictions.

    RECORDED: the times that the jobs took. REQUESTED: those that users asked for (`AskedTimes`). LAST_TWO: the mean of
    a user's last two jobs that ended, at most what was asked for (Tsafrir, Etsion and Feitelson 2007). RUNS: what the
    domain learns from a user's earlier jobs, by times asked for and processors; at most what was asked for.
    """

    RECORDED = "recorded"
    REQUESTED = "requested"
    LAST_TWO = "last-two"
    RUNS = "runs"


class PassedPrediction(IntEnum):
    """Expected run time of a job that has outlived its prediction.

    CORE: as the daemon expects it: a share of the prediction more, and more the longer it goes on. REQUESTED: what its
    user asked for. INCREMENTAL: a minute more than foretold, then 5, 15 and 30 minutes, 1, 2, 5, 10, 20, 50 and 100
    hours (Tsafrir, Etsion and Feitelson 2007, 4.2). DOUBLED: twice as much each time. None more than was asked for.
    """

    CORE = 0
    REQUESTED = 1
    INCREMENTAL = 2
    DOUBLED = 3

    def corrected(self, foretold: float, passed: float, asked: float) -> float | None:
        """Return the seconds that it is expected to take in all; None where the core's own expectation counts.

        Args:
            foretold: seconds, when it began.
            passed: seconds that were expected last, and have passed.
            asked: seconds that its user asked for.
        """
        match self:
            case PassedPrediction.CORE:
                found = 0.0
            case PassedPrediction.REQUESTED:
                found = asked
            case PassedPrediction.INCREMENTAL:
                found = next((foretold + more for more in _INCREMENTS if foretold + more > passed), asked)
            case PassedPrediction.DOUBLED:
                found = 2 * max(passed, _LEAST)
        found = min(found, asked)
        return found if found > passed else None


class TracePredictor(Protocol):
    """Predicts jobs one after another."""

    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        """Return low, expected and high seconds of a job that arrives; three times the same without a range."""
        ...

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        """Learn from a job that has ended, and what was foretold of it."""
        ...


class AskedTimes:
    """Run times that users ask for, as known when a job arrives.

    Of a job without a request it is the mean of its user's last two jobs that ended, else that of all, else an hour.
    """

    def __init__(self) -> None:
        self._last: dict[int, list[float]] = {}
        self._sum, self._count = 0.0, 0

    def of(self, record: RecordedJob) -> float:
        """Return seconds."""
        if record.requested is not None:
            return record.requested
        return self.last_two(record) or (self._sum / self._count if self._count else _UNKNOWN)

    def last_two(self, record: RecordedJob) -> float | None:
        """Return the mean of its user's last two jobs that have ended, seconds; None before the first."""
        last = self._last.get(record.user)
        return sum(last) / len(last) if last else None

    def learn(self, record: RecordedJob) -> None:
        """Learn from a job that has ended."""
        self._last[record.user] = [*self._last.get(record.user, [])[-1:], record.seconds]
        self._sum, self._count = self._sum + record.seconds, self._count + 1


def trace_predictor(predictions: Predictions, asked: AskedTimes) -> TracePredictor:
    """Return a predictor that knows of no job yet.

    Args:
        predictions: their origin.
        asked: what users ask for; learns of each job before the predictor does.
    """
    match predictions:
        case Predictions.RECORDED:
            return _Recorded()
        case Predictions.REQUESTED:
            return _Requested(asked)
        case Predictions.LAST_TWO:
            return _LastTwo(asked)
        case Predictions.RUNS:
            return _Runs()


class _Recorded:
    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        return (record.seconds,) * 3

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        """Learn nothing."""


class _Requested:
    def __init__(self, asked: AskedTimes) -> None:
        self._asked = asked

    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        return (self._asked.of(record),) * 3

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        """Learn nothing but what was asked for."""


class _LastTwo(_Requested):
    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        asked = self._asked.of(record)
        return (min(self._asked.last_two(record) or asked, asked),) * 3


class _Runs:
    def __init__(self) -> None:
        self._runs: defaultdict[tuple[int, int], list[Run]] = defaultdict(list)
        self._newer: defaultdict[tuple[int, int], list[Run]] = defaultdict(list)
        self._learnt: dict[tuple[int, int], LearntRuns] = {}
        self._width = Width()

    def predict(self, record: RecordedJob) -> tuple[float, float, float]:
        asked = self._asked(record)
        pool = self._known((record.user, record.executable)).stated
        if pool is None:
            return (asked,) * 3
        quantiles = pool.quantiles((asked,), [asked], [record.processors], "")
        low, median, high = (float(times[0]) for times in quantiles)
        low, high = (median * (end / median) ** self._width.factor for end in (low, high))
        most = math.inf if record.requested is None else asked
        expected = max(min(median, most), _LEAST)
        return min(low, expected), expected, max(min(high, most), expected)

    def learn(self, record: RecordedJob, foretold: tuple[float, float, float]) -> None:
        asked = self._asked(record)
        run = Run((asked,), record.processors, "", max(record.seconds, _LEAST), stated=asked)
        self._newer[record.user, record.executable].append(run)
        low, _, high = foretold
        if low < high:
            self._width = self._width.learn(within=low <= record.seconds <= high)

    @staticmethod
    def _asked(record: RecordedJob) -> float:
        """Return the request; without one always the same, so that the runs say how far that is off."""
        return _UNKNOWN if record.requested is None else record.requested

    def _known(self, key: tuple[int, int]) -> LearntRuns:
        """Return what the runs of a key taught; newer ones are taken in now."""
        runs, newer, known = self._runs[key], self._newer.pop(key, []), self._learnt.get(key, LearntRuns())
        if newer:
            runs += newer
            found = known.with_runs(newer)
            self._learnt[key] = known = LearntRuns.of(runs) if found is None else found
            del runs[:-MOST_RUNS]
        return known
