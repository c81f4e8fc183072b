"""A recorded year under backfilling and under the search: mean bounded slowdown, beside what others published.

Jobs as they were asked for, nothing known of them but what their users asked for, as in other people's simulators.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.scheduling.formats.swf import read_swf
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName
from cosched.simulation.trace_predictions import PassedPrediction, Predictions
from cosched.simulation.trace_replay import ReplayConditions, replay_trace

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.scheduling.figures import Figures

__all__ = ["replays"]

_ASKED = ReplayConditions(predictions=Predictions.REQUESTED, as_asked=True)
_LAST_TWO = ReplayConditions(predictions=Predictions.LAST_TWO, as_asked=True, passed=PassedPrediction.INCREMENTAL)
_SLOWDOWN = ReplayConditions(predictions=Predictions.REQUESTED, as_asked=True, objective=ObjectiveName.SLOWDOWN)
_ROWS = {
    "easy": (PolicyName.EASY, _ASKED),
    "easy-sjbf": (PolicyName.EASY_SJBF, _ASKED),
    "EASY++": (PolicyName.EASY_SJBF, _LAST_TWO),
    "genetic, slowdown": (PolicyName.GENETIC, _SLOWDOWN),
}


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
