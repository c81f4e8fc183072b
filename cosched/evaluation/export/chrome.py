"""A trace as Chrome's JSON trace events, which Perfetto and chrome://tracing open unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND

if TYPE_CHECKING:
    from cosched.evaluation.results import Evaluation, TraceEvent

__all__ = ["chrome_trace"]

_NAMES = {COMPUTE: "compute", SEND: "send", RECEIVE: "receive"}


def chrome_trace(evaluation: Evaluation, name: str) -> dict[str, Any]:
    """Return a trace document: one process, a thread for each processor, times in microseconds.

    A receive that waits for its message shows as `wait` and then `receive`; an arrow leads from a send to its receive.

    Args:
        evaluation: made with `trace=True`.
        name: name of the process in the viewer.
    """
    count = len(evaluation.processors)
    events: list[dict[str, Any]] = [_meta("process_name", 0, name)]
    events += [_meta("thread_name", processor, f"processor {processor}") for processor in range(1, count + 1)]
    for event in evaluation.events:
        details: dict[str, Any] = {"at": f"{event.file}:{event.line}"}
        if event.peer is not None:
            details["peer"] = event.peer
        if event.kind == SEND:
            details["bytes"] = event.size
        if event.ready > event.start:
            events.append(_slice("wait", event.processor, event.start, event.ready, details))
        events.append(_slice(_NAMES[event.kind], event.processor, event.ready, event.end, details))
        if event.message is not None:
            events.append(_arrow(event))
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _meta(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": 1, "tid": thread, "args": {"name": name}}


def _arrow(event: TraceEvent) -> dict[str, Any]:
    end = {"ph": "s"} if event.kind == SEND else {"ph": "f", "bp": "e"}
    return {
        "name": "message",
        "cat": "message",
        "id": event.message,
        "pid": 1,
        "tid": event.processor,
        "ts": event.ready,
        **end,
    }


def _slice(name: str, thread: int, start: float, end: float, details: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "ph": "X", "pid": 1, "tid": thread, "ts": start, "dur": end - start, "args": details}
