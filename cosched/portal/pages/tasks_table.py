"""A list of tasks as a table for spreadsheets (CSV, RFC 4180)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from cosched.api.times import format_optional_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.api.documents import TaskView

__all__ = ["tasks_table"]

_COLUMNS = (
    "number",
    "name",
    "state",
    "application",
    "owner",
    "hosts",
    "cores of each host",
    "submitted",
    "started",
    "end",
    "deadline",
    "slack (s)",
    "exit code",
    "reason",
)
_MET_NONE = ("failed", "cancelled")  # states of tasks that have met no deadline, whenever they ended
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def tasks_table(tasks: Iterable[TaskView], expected: Mapping[str, float]) -> str:
    """Return the table, a row for each task; times are in the reader's zone, with its offset.

    Args:
        tasks: in the order of the rows.
        expected: ends (epoch seconds) of the tasks that are expected to end, by identifier.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for task in tasks:
        end = expected.get(task.id) if task.finished is None else task.finished
        due = None if task.state in _MET_NONE else task.deadline
        slack = None if due is None or end is None else round(due - end)
        words = (task.id, task.name, task.state, task.application, task.owner)
        times = (task.submitted, task.started, end, task.deadline)
        writer.writerow(
            (
                *map(_text, words),
                len(task.hosts) or task.count,
                task.host_cores or None,
                *map(format_optional_time, times),
                slack,
                task.exit_code,
                _text(task.reason),
            )
        )
    return text.getvalue()


def _text(words: str) -> str:
    """Return words that no spreadsheet takes for a formula: users choose the names of their tasks."""
    return f"'{words}" if words.startswith(_FORMULA) else words
