"""`cosched task workers` lists the workers of an elastic task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.times import format_optional_time
from cosched.cli.output import clean

if TYPE_CHECKING:
    from cosched.api.documents import WorkersView

__all__ = ["WORKER_HEADINGS", "lead_lines", "worker_rows"]

WORKER_HEADINGS = ("WORKER", "HOST", "STATE", "HOST IS", "SINCE", "LEAVES BY", "NOTE")


def lead_lines(found: WorkersView) -> list[str]:
    """Describe the lead, and when the task ends."""
    promised = ", ".join(found.promised) or "none beside its lead's"
    pairs = [
        ("state", found.state),
        ("lead", f"on {found.host}{f', at {clean(found.lead)}' if found.lead else ''}" if found.host else ""),
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
