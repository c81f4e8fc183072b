"""Ranges of ends: between which times nine runs in ten end, as far as predictions have a range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.coscheduler.places.contention import contention_on
from cosched.prediction.calibration import Correction
from cosched.prediction.loads.loaded_profile import loaded_profile_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

__all__ = ["EndRanges"]


class EndRanges:
    """Tells ranges of ends with what the core has learnt by now; for one question, on the core's thread."""

    def __init__(self, core: Coscheduler) -> None:
        self._loads = core.domain.loads
        self._interruption = core.settings.interruption
        self._classes = core.domain.classes()
        self._corrections = core.corrections()
        self._domain, self._contention = core.domain, core.contention

    def of(self, task: Task, hosts: Sequence[str], start: float) -> tuple[float, float] | None:
        """Return between which times nine runs in ten end that start then on these hosts; None for no range.

        Args:
            task: a live task.
            hosts: those it has or will have.
            start: epoch seconds.
        """
        there = task.on(self._classes.get(host, "") for host in hosts)
        if there.profile is None:
            return None
        known = self._corrections.get(there.correction, Correction())
        loads = [self._loads[host] for host in hosts if host in self._loads]
        if loads and math.isfinite(there.profile.on(len(hosts))):
            corrected = known.corrected(there.profile)
            loaded = loaded_profile_on(corrected, loads, len(hosts), self._interruption)
            found = Correction().ends(loaded, len(hosts))
        else:
            found = known.ends(there.profile, len(hosts))
        if found is None:
            return None
        longer = contention_on(self._domain, self._contention, there, hosts)
        return start + task.ahead(found[0]) * longer, start + task.ahead(found[1]) * longer
