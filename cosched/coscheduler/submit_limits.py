"""Submit limits say how many attempts the resource manager takes of each owner.

Managers do not tell the limit, so it is probed: what was taken is the limit; one attempt beyond it is tried
after a pause that doubles, and each success doubles the number of the next try. Start at `SubmitLimits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.core_settings import CoreSettings

__all__ = ["OwnerLimit", "SubmitLimits"]


@dataclass(slots=True)
class OwnerLimit:
    """An owner's known limit: the manager took no more attempts.

    Attributes:
        limit: live attempts that it had taken.
        until: when more are tried, epoch seconds.
        step: how many are then tried beyond the limit.
        why: the manager's words.
        pauses: in a row.
    """

    limit: int
    until: float
    why: str
    pauses: int
    step: int = 1


class SubmitLimits:
    """Limits found so far.

    Attributes:
        doors: by owner; there is none for those of whom nothing was ever refused.
    """

    def __init__(self, settings: CoreSettings) -> None:
        self.doors: dict[str, OwnerLimit] = {}
        self._settings = settings

    def snapshot(self) -> dict[str, OwnerLimit]:
        """Return the known limit of each owner now."""
        return {owner: replace(door) for owner, door in self.doors.items()}

    def load(self, limits: Mapping[str, OwnerLimit]) -> None:
        """Go on from a snapshot."""
        self.doors = {owner: replace(door) for owner, door in limits.items()}

    def refuse(self, owner: str, taken: int, why: str, time: float) -> None:
        """Note that the manager refused an attempt beside `live` others of its owner."""
        door = self.doors.get(owner)
        pauses = 1 if door is None else door.pauses + (time >= door.until)  # those that left together count once
        pause = min(self._settings.retry * 2.0 ** min(pauses - 1, 20), self._settings.retry_longest)
        self.doors[owner] = OwnerLimit(taken, time + pause, why, pauses)

    def take(self, owner: str, taken: int) -> None:
        """Note that the manager took an attempt, which makes `live` of its owner."""
        door = self.doors.get(owner)
        if door is not None and taken > door.limit:
            door.limit, door.pauses, door.step = taken, 0, 2 * door.step

    def room(self, owner: str, live: int, time: float) -> float:
        """Return how many more attempts of an owner may leave."""
        door = self.doors.get(owner)
        if door is None:
            return math.inf
        return max(door.limit + (door.step if time >= door.until else 0) - live, 0)
