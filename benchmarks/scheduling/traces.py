"""A recorded year under backfilling and under the search: mean bounded slowdown, beside what others published.

Jobs as they were asked for, nothing known of them but what their users asked for, as in other people's simulators. And
its first jobs as earlier runs foretell them: plans on the times expected, beside plans on times that most runs keep.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.scheduling.formats.swf import read_swf
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName
from cosched.simulation.trace_predictions import PassedPrediction, Predictions
from cosched.simulation.trace_replay import Moldability, ReplayConditions, replay_trace

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.figures import Figures

__all__ = ["ranges", "replays"]

_ASKED = ReplayConditions(predictions=Predictions.REQUESTED, as_asked=True)
_LAST_TWO = ReplayConditions(predictions=Predictions.LAST_TWO, as_asked=True, passed=PassedPrediction.INCREMENTAL)
_SLOWDOWN = ReplayConditions(predictions=Predictions.REQUESTED, as_asked=True, objective=ObjectiveName.SLOWDOWN)
_ROWS = {
    "easy": (PolicyName.EASY, _ASKED),
    "easy-sjbf": (PolicyName.EASY_SJBF, _ASKED),
    "EASY++": (PolicyName.EASY_SJBF, _LAST_TWO),
    "genetic, slowdown": (PolicyName.GENETIC, _SLOWDOWN),
}
_FIRST = 2000  # jobs: predictions by earlier runs take a while
_QUANTILES = {"points": 0.5, "times that 80 % keep": 0.8}


def replays(figures: Figures, file: Path, jobs: int = 0) -> None:
    """Print the mean bounded slowdown of each row, and the processor time of its replay.

    Args:
        figures: what to add to.
        file: the trace, in the standard workload format.
        jobs: only so many from its start; 0 for all.
    """
    trace = read_swf(file)
    count = len(trace.records[: jobs or None])
    about = f"{file.name}, {count} jobs on {trace.processors} processors"
    figures.section("traces", f"{about:60} bounded slowdown  wait (s)  seconds")
    for name, (policy, conditions) in _ROWS.items():
        began = time.process_time()
        found = replay_trace(trace, policy, conditions, jobs).row
        took = time.process_time() - began
        slowdown, wait = (float(found[key] or 0.0) for key in ("bounded_slowdown", "wait"))
        figures.row(
            name, f"{name:60} {slowdown:16.2f} {wait:9.0f} {took:8.0f}", slowdown=slowdown, wait=wait, seconds=took
        )


def ranges(figures: Figures, file: Path, jobs: int = _FIRST) -> None:
    """Print deadlines met and mean bounded slowdown of plans on points, and on a quantile of what runs foretell.

    The search with the daemon's objective; rigid jobs, and jobs with other run times on other counts (Downey 1997).

    Args:
        figures: what to add to.
        file: see `replays`.
        jobs: so many from its start.
    """
    trace = read_swf(file)
    about = f"{file.name}, the first {len(trace.records[:jobs])} jobs, predicted by earlier runs"
    figures.section("ranges", f"{about:72} on time  bounded slowdown")
    for moldability in (Moldability.RIGID, Moldability.DOWNEY):
        for name, quantile in _QUANTILES.items():
            conditions = ReplayConditions(moldability, Predictions.RUNS, quantile=quantile)
            found = replay_trace(trace, PolicyName.GENETIC, conditions, jobs).row
            on_time, slowdown = (float(found[key] or 0.0) for key in ("on_time", "bounded_slowdown"))
            row = f"{moldability}, {name}"
            figures.row(row, f"{row:72} {on_time:7.1%} {slowdown:17.2f}", on_time=on_time, slowdown=slowdown)
