"""The workers of an elastic task (`cosched task workers`), and its ends before it is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.times import format_optional_time
from cosched.cli.output import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents import PromiseView, WorkersView

__all__ = ["WORKER_HEADINGS", "lead_lines", "promise_lines", "worker_rows"]

WORKER_HEADINGS = ("WORKER", "HOST", "STATE", "HOST IS", "SINCE", "LEAVES BY", "NOTE")


def lead_lines(found: WorkersView) -> list[str]:
    """Describe the lead, and when the task ends."""
    address = clean(found.lead).partition("#")[0]  # behind it stands where its keys are
    promised = ", ".join(found.promised) or "none beside its lead's"
    pairs = [
        ("state", found.state),
        ("lead", f"on {found.host}{f', at {address}' if address else ''}" if found.host else ""),
        ("promised", promised if found.host else ""),
        ("promised end", format_optional_time(found.promised_end)),
        ("expected end", format_optional_time(found.expected_end)),
    ]
    return [f"{label + ':':14}{text}" for label, text in pairs if text]


def worker_rows(found: WorkersView) -> list[tuple[str, ...]]:
    """Return the rows of the table of workers."""
    return [
        (
            str(each.worker),
            each.host,
            each.state,
            "promised" if each.promised else "lent",
            format_optional_time(each.since),
            format_optional_time(each.leave_by) if each.state == "leaving" else "",
            clean(each.reason),
        )
        for each in found.workers
    ]


def promise_lines(promises: Sequence[PromiseView]) -> list[str]:
    """Return both ends of an elastic task for each number of hosts that it may be promised.

    One that checkpoints is lent no hosts: it has one end.
    """
    lends = any(each.expected_end is not None for each in promises)
    heading = (
        ("promised hosts", "starts", "promised end", "expected end", "") if lends else ("hosts", "starts", "end", "")
    )
    rows: list[tuple[str, ...]] = [heading] if promises else []
    for each in promises:
        remarks = ["planned"] if each.planned else []
        remarks += ["misses its deadline"] if each.meets_deadline is False else []
        known = (each.start, each.promised_end, *((each.expected_end,) if lends else ()))
        times = [format_optional_time(time) for time in known]
        rows.append((str(each.hosts), *times, ", ".join(remarks)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
