"""How many deadlines are met as the plan stands: on time, at risk, late. Each leads to its tasks in the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.api.documents import PlacementView

__all__ = ["Deadlines", "deadlines"]


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The tasks with deadlines that run or wait, by what is expected of them.

    Attributes:
        on_time: identifiers of those that end in time, in nine runs of ten.
        at_risk: that are expected in time, and of which one run in twenty at least would be late.
        late: that are expected after their deadlines.
    """

    on_time: tuple[str, ...]
    at_risk: tuple[str, ...]
    late: tuple[str, ...]

    @property
    def total(self) -> int:
        """Return how many there are."""
        return len(self.on_time) + len(self.at_risk) + len(self.late)


def deadlines(placements: Iterable[PlacementView]) -> Deadlines:
    """Sort the tasks of a plan by what is expected of their deadlines; others' tasks have none that one may see.

    A task whose job should have begun and has not is at risk, whatever was predicted.
    """
    found: dict[str, list[str]] = {"on time": [], "at risk": [], "late": []}
    for place in placements:
        if place.deadline is None:
            continue
        if place.end > place.deadline:
            found["late"].append(place.task)
        elif not place.certain or (place.end_high is not None and place.end_high > place.deadline):
            found["at risk"].append(place.task)
        else:
            found["on time"].append(place.task)
    return Deadlines(tuple(found["on time"]), tuple(found["at risk"]), tuple(found["late"]))
