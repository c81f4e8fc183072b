"""Each function brings the documents of one class from earlier recordings up to date.

A recording is kept for longer than a version. Start at `EARLIER_FORMS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.coscheduler.events import ScheduleImproved
from cosched.coscheduler.recording.snapshot import ElasticSnapshot, QueueSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["EARLIER_FORMS"]


def _improved(document: dict[str, Any]) -> dict[str, Any]:
    """Put the plan's three fields into one."""
    if "order" not in document:
        return document
    document = dict(document)
    plan = {"tasks": document.pop("order"), "counts": document.pop("counts", [])}
    return document | {"plan": plan | {"classes": document.pop("classes", [])}}


def _queue(document: dict[str, Any]) -> dict[str, Any]:
    """Make a plan of host counts and classes by task; their order was the plan's."""
    if "counts" not in document:
        return document
    document = dict(document)
    counts, classes = document.pop("counts"), document.pop("classes", {})
    plan = {
        "tasks": list(counts),
        "counts": list(counts.values()),
        "classes": [classes.get(each, "") for each in counts],
    }
    return document | {"plan": plan}


def _elastic(document: dict[str, Any]) -> dict[str, Any]:
    """Take workers that failed out of the records of work; until when there was to be no other stood there, too."""
    work, setbacks = {}, dict(document.get("setbacks", {}))
    for name, each in document.get("work", {}).items():
        work[name] = {field: value for field, value in each.items() if field not in ("setbacks", "setback")}
        if each.get("setbacks"):
            until, last = each.get("settled", 0.0), each.get("setback", "")
            setbacks[name] = {"count": each["setbacks"], "until": until, "last": last}
    return document | ({"work": work} if work else {}) | ({"setbacks": setbacks} if setbacks else {})


EARLIER_FORMS: Mapping[type, Callable[[dict[str, Any]], dict[str, Any]]] = {
    ElasticSnapshot: _elastic,
    ScheduleImproved: _improved,
    QueueSnapshot: _queue,
}
"""Class → a function that gives a document of today for one of an earlier version, or of today."""
