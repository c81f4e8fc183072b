"""What becomes of a job by itself: drawn once, when it is submitted."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from cosched.connector import JobState
from cosched_simulated.pool import Ending

if TYPE_CHECKING:
    from cosched.connector import Launch
    from cosched_simulated.settings import SimulatedSettings

__all__ = ["fate"]

_DONE = Ending(JobState.COMPLETED, 0)
_FAILED = Ending(JobState.FAILED, 1, "it fails, as 'failures' asks for")


def fate(launch: Launch, settings: SimulatedSettings) -> tuple[float, Ending]:
    """Return how many seconds an attempt lasts and how it ends: the same for the same seed and attempt.

    The time is the predicted one by a log-normal factor of median 1, cut off at the time limit.
    """
    draw = random.Random(f"{settings.seed}/{launch.attempt}")  # noqa: S311  a repeatable draw
    expected = settings.unpredicted if launch.predicted is None else launch.predicted
    seconds = expected * draw.lognormvariate(0.0, settings.error)
    if launch.time_limit is not None and seconds > launch.time_limit:
        return launch.time_limit, Ending(JobState.REMOVED, reason=f"its time limit of {launch.time_limit:g} s was over")
    return seconds, _FAILED if draw.random() < settings.failures else _DONE
