"""Which worker of pytest-xdist gets which tests: two thirds begin with what waits, a third with what computes.

Tests beside pools, daemons and browsers wait for most of their time; groups of them share what takes long to start.
With such tests alone six workers leave two processors idle, and what computes is left for the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadGroupScheduling

if TYPE_CHECKING:
    import pytest

__all__ = ["from_both_ends", "sort_for_workers"]

_WAIT = ("index", "pool", "daemon", "browser")  # marks of tests that do


def sort_for_workers(items: list[pytest.Item]) -> None:
    """Put tests that wait before those that compute, and slow ones first: else one of them ends alone."""
    items.sort(key=lambda item: (not _waits(item), item.get_closest_marker("slow") is None))


def _waits(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in _WAIT)


def from_both_ends(config: pytest.Config, log: Any) -> Any:
    """Return the scheduling of `--dist loadgroup`, of which every third worker takes its tests from the end."""
    scheduling: Any = LoadGroupScheduling(config, log)
    assign = scheduling._assign_work_unit

    def assign_from_one_end(worker: Any) -> None:
        number = int(worker.gateway.id.removeprefix("gw"))
        if number % 3 == 2:
            scheduling.workqueue.move_to_end(next(reversed(scheduling.workqueue)), last=False)
        assign(worker)

    scheduling._assign_work_unit = assign_from_one_end
    return scheduling
