"""Predictions from runs that were like a new task.

Start at `RunHistory.profile`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from cosched.prediction.history import FEWEST_RUNS, MOST_RUNS, History, Run, history_profile
from cosched.prediction.profile import slowest_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.prediction.profile import Profile
    from cosched.prediction.run_features import RunFeatures
    from cosched.store.runs import RunTable

__all__ = ["RunHistory"]

_MOST_REMEMBERED = 256  # programs


class RunHistory:
    """Learns from the runs that are kept. May be used from several threads."""

    def __init__(self, runs: RunTable) -> None:
        self._runs = runs
        self._guard = threading.Lock()
        self._known: OrderedDict[str, tuple[int, History]] = OrderedDict()  # key → newest run, what it taught

    def profile(self, features: RunFeatures, counts: range, classes: Sequence[str]) -> Profile | None:
        """Return what earlier runs tell of a new one.

        A number of hosts that no run had is foretold from half the smallest to twice the largest that one had.

        Args:
            features: what decides how long it runs.
            counts: numbers of hosts that it may have.
            classes: classes of the hosts; empty where the manager names none.

        Returns:
            The prediction; None after fewer than `FEWEST_RUNS` runs, or where none had such a number of hosts.

        Raises:
            StoreFault: the runs cannot be read.
        """
        history = self._history(features)
        if history is None:
            return None
        low, high = min(history.counts), max(history.counts)
        usable = [count for count in counts if low <= 2 * count and count <= 2 * high]
        if not usable:
            return None
        profiles = [history_profile(history, features.numbers, usable, name) for name in classes or ("",)]
        return slowest_profile(profiles, "+".join(classes))

    def _history(self, features: RunFeatures) -> History | None:
        newest = self._runs.newest(features.key)
        with self._guard:
            known = self._known.get(features.key)
        if known is not None and known[0] == newest:
            return known[1]
        runs = [
            Run(each.numbers, each.hosts, each.hardware, each.seconds)
            for each in self._runs.of(features.key, MOST_RUNS)
            if len(each.numbers) == len(features.numbers)
        ]
        if len(runs) < FEWEST_RUNS:
            return None
        history = History(runs)
        with self._guard:
            self._known[features.key] = (newest, history)
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return history
