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
        pauses: number of pauses in a row.
    """

    limit: int
    until: float
    why: str
    pauses: int
    step: int = 1


class SubmitLimits:
    """Limits found so far.

    Attributes:
        by_owner: known limits; an owner without any refusal has none.
    """

    def __init__(self, settings: CoreSettings) -> None:
        self.by_owner: dict[str, OwnerLimit] = {}
        self._settings = settings

    def snapshot(self) -> dict[str, OwnerLimit]:
        """Return the known limit of each owner now."""
        return {owner: replace(known) for owner, known in self.by_owner.items()}

    def load(self, limits: Mapping[str, OwnerLimit]) -> None:
        """Go on from a snapshot."""
        self.by_owner = {owner: replace(known) for owner, known in limits.items()}

    def note_refusal(self, owner: str, taken: int, why: str, time: float) -> None:
        """Record that the manager refused an attempt of an owner with `taken` live ones."""
        known = self.by_owner.get(owner)
        pauses = 1 if known is None else known.pauses + (time >= known.until)  # those that left together count once
        pause = min(self._settings.retry * 2.0 ** min(pauses - 1, 20), self._settings.retry_longest)
        self.by_owner[owner] = OwnerLimit(taken, time + pause, why, pauses)

    def note_success(self, owner: str, taken: int) -> None:
        """Note that the manager took an attempt, which makes `taken` live ones of this owner."""
        known = self.by_owner.get(owner)
        if known is not None and taken > known.limit:
            known.limit, known.pauses, known.step = taken, 0, 2 * known.step

    def room(self, owner: str, live: int, time: float) -> float:
        """Return how many more attempts of an owner may leave."""
        known = self.by_owner.get(owner)
        if known is None:
            return math.inf
        return max(known.limit + (known.step if time >= known.until else 0) - live, 0)
