"""What is foretold of what: runs that a predictor may see, and questions without their answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.modelling.holdout import HOLDOUTS, holdout_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.modelling.points import TimedRun

__all__ = ["Question", "Split", "floor_of", "splits_of", "truths_of"]


@dataclass(frozen=True, slots=True)
class Question:
    """A size on a number of processors whose run time is asked for."""

    parameters: Mapping[str, float]
    processors: int

    @property
    def key(self) -> tuple[object, ...]:
        """Return it as the key of `truths_of`."""
        return *self.parameters.values(), self.processors


@dataclass(frozen=True, slots=True)
class Split:
    """Runs that are seen, and what is asked for.

    Attributes:
        name: such as `inside`.
        seen: runs, the oldest first.
        questions: sizes on numbers of processors that are not among the runs seen.
    """

    name: str
    seen: tuple[TimedRun, ...]
    questions: tuple[Question, ...]


def splits_of(runs: Sequence[TimedRun]) -> Iterator[Split]:
    """Yield the splits of a program's runs: several of a name where one or a few sizes are left out at a time."""
    for what, name in HOLDOUTS.items():
        try:
            groups = holdout_groups(runs, what)
        except UserError:  # nothing can be left out so
            continue
        for held in groups:
            seen = tuple(run for place, run in enumerate(runs) if place not in held)
            if what == "hosts:new":
                seen = tuple(run for run in seen if run.processors < max(each.processors for each in runs))
            asked = {_key(runs[place]): runs[place] for place in sorted(held)}
            questions = tuple(Question(run.parameters, run.processors) for run in asked.values())
            if len({_key(run) for run in seen}) > 1:
                yield Split(name, seen, questions)


def truths_of(runs: Sequence[TimedRun]) -> dict[tuple[object, ...], list[float]]:
    """Return the run times at each size and number of processors."""
    found: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for run in runs:
        found[_key(run)].append(run.seconds)
    return found


def floor_of(truths: Mapping[tuple[object, ...], Sequence[float]]) -> float | None:
    """Return how far a run is from the median of the other launches of the same, the mean; None without repeats."""
    off = [
        abs(seconds / median([*times[:place], *times[place + 1 :]]) - 1)
        for times in map(list, truths.values())
        if len(times) > 1
        for place, seconds in enumerate(times)
    ]
    return fmean(off) if off else None


def _key(run: TimedRun) -> tuple[object, ...]:
    return *run.parameters.values(), run.processors
