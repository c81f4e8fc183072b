"""Compare a new plan with the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cosched.scheduling.objective.objective import Metrics

__all__ = ["PlanFigures", "SearchProgress", "describe_difference"]

_TELLABLE = 1e-6  # relative; less than this is rounding


class PlanFigures(NamedTuple):
    """The figures that judge a plan.

    Attributes:
        makespan: in seconds.
        late: number of tasks that miss their deadline.
        lateness: sum of their lateness in seconds.
        front_idle: front-weighted idle share, 0…1 (see `Metrics`).
        slowdown: mean bounded slowdown; 0 where it is not asked for.
    """

    makespan: float
    late: int
    lateness: float
    front_idle: float
    slowdown: float = 0.0

    @classmethod
    def of(cls, metrics: Metrics) -> PlanFigures:
        """Return the figures of a schedule that has been measured."""
        late = metrics.with_deadline - metrics.on_time
        return cls(metrics.makespan, late, metrics.lateness, metrics.front_idle, metrics.slowdown or 0.0)


class SearchProgress(NamedTuple):
    """A better plan: how much work it took, and its figures.

    Attributes:
        elapsed: seconds of search.
        generations: generations of the search so far.
        evaluations: plans that were compared so far.
        figures: figures of the plan.
        why: the improvement over the one before, one line; empty for the first.
    """

    elapsed: float
    generations: int
    evaluations: int
    figures: PlanFigures
    why: str


def describe_difference(before: PlanFigures, after: PlanFigures) -> str:
    """Describe how two plans differ: `1 more task on time, makespan 61 → 58.5 s`."""
    said = []
    if after.late != before.late:
        number = abs(after.late - before.late)
        said.append(f"{number} {'more' if after.late < before.late else 'fewer'} task{'s' * (number > 1)} on time")
    for name, old, new in (
        ("lateness", before.lateness, after.lateness),
        ("makespan", before.makespan, after.makespan),
    ):
        if _differ(old, new):
            said.append(f"{name} {_pair(old, new)} s")
    if _differ(before.slowdown, after.slowdown):
        said.append(f"mean slowdown {_pair(before.slowdown, after.slowdown)}")
    if _differ(before.front_idle, after.front_idle):
        said.append(f"early idle time {_pair(100 * before.front_idle, 100 * after.front_idle)} %")
    return ", ".join(said)


def _differ(old: float, new: float) -> bool:
    return abs(new - old) > _TELLABLE * max(abs(old), abs(new), _TELLABLE)


def _pair(old: float, new: float) -> str:
    """Return both numbers with as many digits as tell them apart."""
    for digits in range(3, 17):
        if f"{old:.{digits}g}" != f"{new:.{digits}g}":
            return f"{_rounded(old, digits)} → {_rounded(new, digits)}"
    return f"{old!r} → {new!r}"


def _rounded(value: float, digits: int) -> str:
    """Return a number rounded to `digits`, without an exponent where that reads more easily."""
    return f"{float(f'{value:.{digits}g}'):.{max(digits, 9)}g}"
