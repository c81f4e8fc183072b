"""Check the curves of a hardware configuration: costs by size, point by point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.language.arithmetic import constant
from cosched.language.checks.expressions import Dimensions, misfit
from cosched.language.diagnostics import suggestion
from cosched.language.vocabulary import CURVES, SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.language.syntax import Config, Curve, Expression, Group, Node
    from cosched.language.vocabulary import CurveKind

    Points = tuple[tuple[float, float], ...]

__all__ = ["check_curves", "curve_points"]

_FEWEST, _MOST = 2, 1000
_STEEPEST = 1e100  # a line any steeper has no numbers


def curve_points(config: Config) -> Mapping[str, Points]:
    """Return the curves of a checked configuration by group: (size, cost) in base units."""
    return {
        group.name: tuple((constant(point.size) or 0.0, constant(point.cost) or 0.0) for point in curve.points)
        for group in config.groups
        for curve in group.curves
    }


def check_curves(config: Config, report: Callable[[Node, str], None]) -> None:
    """Report the faults of a configuration's curves.

    Unknown and double names, too few points, sizes that do not grow, values that no cost has.
    """
    for group in config.groups:
        first: dict[str, Curve] = {}
        for curve in group.curves:
            earlier = first.setdefault(curve.name, curve)
            if earlier is not curve:
                report(curve, f"{curve.name} is already given in line {earlier.at.line}")
            elif group.name not in CURVES:
                report(curve, _misplaced(group, curve))
            elif curve.name != CURVES[group.name].name:
                known = CURVES[group.name].name
                report(curve, f"{curve.name} is no curve of {group.name}{suggestion(curve.name, [known])}")
            else:
                _check_points(curve, CURVES[group.name], report)


def _misplaced(group: Group, curve: Curve) -> str:
    return f"{group.name} has no curves: {curve.name} takes one number"


def _check_points(curve: Curve, kind: CurveKind, report: Callable[[Node, str], None]) -> None:
    dimensions = Dimensions({}, (), report)
    if not _FEWEST <= len(curve.points) <= _MOST:
        report(curve, f"{curve.name} has {len(curve.points)} points: a curve has {_FEWEST} to {_MOST}")
    before, cost_before = -math.inf, math.nan
    for point in curve.points:
        for expression, dimension in ((point.size, SIZE), (point.cost, kind.dimension)):
            message = misfit(dimensions.of(expression), dimension)
            if message:
                report(expression, f"{message} for {curve.name}")
        size, cost = _number(point.size, report), _number(point.cost, report)
        if size is not None:
            if not 0 <= size < math.inf:
                report(point.size, f"a size of {size:g} bytes: it is finite and not negative")
            elif size <= before:
                report(point.size, f"{size:g} bytes is not more than {before:g}: sizes grow from point to point")
            elif cost is not None and abs(cost - cost_before) / (size - before) > _STEEPEST:
                report(point.cost, f"{cost:g} in {curve.name} is too far from {cost_before:g} for so few bytes more")
            before = max(before, size)
        cost_before = math.nan if cost is None else cost
        if cost is not None and not 0 < cost < math.inf:
            report(point.cost, f"{cost:g} in {curve.name}: it is finite and more than 0")


def _number(expression: Expression, report: Callable[[Node, str], None]) -> float | None:
    found = constant(expression)
    if found is None:
        report(expression, "a number is needed here")
    return found
