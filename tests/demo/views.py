"""Tasks as the API shows them, for the tests of the demonstration."""

from __future__ import annotations

from typing import Any

from cosched.api.documents import TaskView


def ran(name: str, hosts: tuple[str, ...], started: float, finished: float, **fields: Any) -> TaskView:
    """Return a task that completed."""
    values: dict[str, Any] = {
        "id": name,
        "name": "fft",
        "application": "fft",
        "state": "completed",
        "reason": "",
        "owner": "",
        "submitted": 100.0,
        "deadline": None,
        "best_effort": False,
        "hosts": hosts,
        "count": len(hosts),
        "predicted": finished - started,
        "actual": finished - started,
        "dispatched": started,
        "started": started,
        "finished": finished,
        "exit_code": 0,
        "attempts": 1,
        "on_time": None,
    }
    return TaskView(**{**values, **fields})
