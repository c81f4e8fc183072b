"""Which worker of pytest-xdist gets which tests: two thirds begin with what waits, a third with what computes.

Tests beside pools, daemons and browsers wait for most of their time; groups of them share what takes long to start.
With such tests alone six workers leave two processors idle, and what computes is left for the end. What takes longest
stands at both ends, and what is left when all meet is short.

Quick tests of a file stay together: what their module makes once is made in one worker, and they are handed out by one
message.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadGroupScheduling

if TYPE_CHECKING:
    import pytest

__all__ = ["from_both_ends", "group_of", "name_units", "sort_for_workers", "unit_of"]

_WAIT = {"browser": 4.0, "pool": 3.0, "daemon": 2.0, "index": 2.0}  # marks of tests that do, and seconds of most
_SLOW = 20.0  # seconds of a test that is marked as slow, and no more said
_QUICK = 0.1  # seconds of all others


def group_of(item: pytest.Item) -> str:
    """Return the name of the group whose tests stay together; empty for a test that may run anywhere."""
    return "_".join(sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")}))


def unit_of(item: pytest.Item) -> str:
    """Return what the tests have in common that one worker gets together: group or file; else the test alone."""
    if group := group_of(item):
        return group
    return item.nodeid if _waits(item) or item.get_closest_marker("slow") else item.nodeid.partition("::")[0]


def _waits(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in _WAIT)


def sort_for_workers(items: list[pytest.Item]) -> None:
    """Put what waits before what computes, and what is long at the ends."""
    lengths: defaultdict[str, float] = defaultdict(float)
    waiting: set[str] = set()
    for item in items:
        unit = unit_of(item)
        lengths[unit] += _seconds(item)
        if _waits(item):
            waiting.add(unit)

    def place(item: pytest.Item) -> tuple[bool, float]:
        unit = unit_of(item)
        return (False, -lengths[unit]) if unit in waiting else (True, lengths[unit])

    items.sort(key=place)


def _seconds(item: pytest.Item) -> float:
    """Return about how long a test takes: what its mark `slow(seconds)` says, else what its kind does."""
    slow = item.get_closest_marker("slow")
    if slow is not None:
        return float(slow.args[0]) if slow.args else _SLOW
    return next((seconds for name, seconds in _WAIT.items() if item.get_closest_marker(name) is not None), _QUICK)


def from_both_ends(config: pytest.Config, log: Any) -> Any:
    """Return the scheduling of `--dist loadgroup`, of which every third worker takes its tests from the end.

    What has run is forgotten: pytest-xdist 3.8 counts at each end of a test through all that its worker has run, some
    million times in a whole run.
    """
    config.option.loadscopereorder = False
    scheduling: Any = LoadGroupScheduling(config, log)
    assign, complete = scheduling._assign_work_unit, scheduling.mark_test_complete

    def assign_from_one_end(worker: Any) -> None:
        number = int(worker.gateway.id.removeprefix("gw"))
        if number % 3 == 2:
            scheduling.workqueue.move_to_end(next(reversed(scheduling.workqueue)), last=False)
        assign(worker)

    def complete_and_forget(worker: Any, number: int, duration: float = 0.0) -> None:
        complete(worker, number, duration)
        units = scheduling.assigned_work[worker]
        for unit in [unit for unit, tests in units.items() if all(tests.values())]:
            del units[unit]

    scheduling._assign_work_unit = assign_from_one_end
    scheduling.mark_test_complete = complete_and_forget
    return scheduling


def name_units(session: pytest.Session) -> None:
    """Have a worker name the unit of each test to who hands them out; reports have the tests' own names."""
    worker: Any = next(
        each for each in session.config.pluginmanager.get_plugins() if type(each).__name__ == "WorkerInteractor"
    )
    send = worker.sendevent

    def send_with_units(name: str, **words: Any) -> None:
        if name == "collectionfinish":
            words["ids"] = [_scheduled(item) for item in session.items]
        send(name, **words)

    worker.sendevent = send_with_units


def _scheduled(item: pytest.Item) -> str:
    """Return the name of a test with its unit behind it, as `LoadGroupScheduling` reads it."""
    unit = unit_of(item)
    return item.nodeid if unit in (item.nodeid, group_of(item)) else f"{item.nodeid}@{unit}"
