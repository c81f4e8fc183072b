"""Small documents of tasks and hosts for the tests."""

from __future__ import annotations

from typing import Any

from cosched.api.documents import ExplanationView, Forecast, HostView, ProfileView, TaskDetail

NOW = 1_750_000_000.0  # 15 June 2025, 15:06:40 UTC


def profile(seconds: tuple[float | None, ...], source: str = "user") -> ProfileView:
    return ProfileView(seconds=seconds, source=source, hardware="" if source == "user" else "fast")


def detail(**changes: Any) -> TaskDetail:
    values: dict[str, Any] = {
        "id": "7",
        "name": "night",
        "application": "x",
        "state": "queued",
        "reason": "",
        "owner": "ann",
        "submitted": NOW - 100,
        "deadline": None,
        "best_effort": False,
        "hosts": (),
        "count": 1,
        "predicted": None,
        "actual": None,
        "dispatched": None,
        "started": None,
        "finished": None,
        "exit_code": None,
        "attempts": 0,
        "on_time": None,
        "command": ("/bin/x",),
        "parameters": {},
        "environment": {},
        "directory": "",
        "time_limit": None,
        "prepare": (),
        "native": None,
        "notify": (),
        "profile": None,
        "tries": (),
        "log": (),
    }
    return TaskDetail(**{**values, **changes})


def explained(start: float | None = None, end: float | None = None) -> ExplanationView:
    return ExplanationView(
        task="7",
        state="queued",
        waits_for=(),
        planned_start=start,
        planned_end=end,
        planned_hosts=(),
        slack=None,
        would_change=(),
    )


def forecast(**changes: Any) -> Forecast:
    values: dict[str, Any] = {
        "application": "x",
        "name": "x",
        "profile": profile((20.0, 10.0)),
        "planned_start": NOW,
        "planned_end": NOW + 10,
        "planned_hosts": ("a", "b"),
        "deadline": None,
        "meets_deadline": None,
        "earliest_deadline": NOW + 10,
    }
    return Forecast(**{**values, **changes})


def host(name: str, *, up: bool = True, reason: str = "") -> HostView:
    return HostView(name=name, host_class="", up=up, reason=reason, task="", free_at=None)
