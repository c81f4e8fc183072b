"""A trace in the Pajé format, which ViTE, Paje and PajeNG open unchanged.

The format is described in Schnorr, Stein, de Kergommeaux: Paje Trace File Format, version 1.2.5: a header that defines
events with their fields, then one event a line, by time, in seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.evaluation.results import Evaluation, TraceEvent

__all__ = ["paje_trace"]

_FIELDS = {
    "PajeDefineContainerType": ("Alias string", "Type string", "Name string"),
    "PajeDefineStateType": ("Alias string", "Type string", "Name string"),
    "PajeDefineLinkType": (
        "Alias string",
        "Type string",
        "StartContainerType string",
        "EndContainerType string",
        "Name string",
    ),
    "PajeDefineEntityValue": ("Alias string", "Type string", "Name string", "Color color"),
    "PajeCreateContainer": ("Time date", "Alias string", "Type string", "Container string", "Name string"),
    "PajeDestroyContainer": ("Time date", "Type string", "Name string"),
    "PajeSetState": ("Time date", "Type string", "Container string", "Value string", "Place string"),
    "PajeStartLink": (
        "Time date",
        "Type string",
        "Container string",
        "Value string",
        "StartContainer string",
        "Key string",
    ),
    "PajeEndLink": (
        "Time date",
        "Type string",
        "Container string",
        "Value string",
        "EndContainer string",
        "Key string",
    ),
}
_NUMBER = {name: number for number, name in enumerate(_FIELDS)}
_STATES = {COMPUTE: "compute", SEND: "send", RECEIVE: "receive"}
_COLOURS = {
    "compute": "0.12 0.47 0.71",
    "send": "0.76 0.34 0.05",
    "receive": "0.10 0.50 0.29",
    "wait": "0.80 0.80 0.80",
    "idle": "0.95 0.95 0.95",
}


def paje_trace(evaluation: Evaluation, name: str) -> str:
    """Return a trace document: a container for each processor, a link for each message.

    Args:
        evaluation: made with `trace=True`.
        name: name of the program in the viewer.
    """
    count = len(evaluation.processors)
    lines = [line for event, parts in _FIELDS.items() for line in _definition(event, parts)]
    lines += _types()
    lines.append(_line("PajeCreateContainer", _time(0), "program", "P", "0", name))
    lines += [
        _line("PajeCreateContainer", _time(0), f"p{number}", "T", "program", f"processor {number}")
        for number in range(1, count + 1)
    ]
    lines += _happenings(evaluation)
    end = _time(evaluation.seconds * 1e6)
    lines += [_line("PajeDestroyContainer", end, "T", f"p{number}") for number in range(1, count + 1)]
    lines.append(_line("PajeDestroyContainer", end, "P", "program"))
    return "\n".join(lines) + "\n"


def _definition(event: str, parts: tuple[str, ...]) -> Iterator[str]:
    yield f"%EventDef {event} {_NUMBER[event]}"
    yield from (f"% {part}" for part in parts)
    yield "%EndEventDef"


def _types() -> Iterator[str]:
    yield _line("PajeDefineContainerType", "P", "0", "program")
    yield _line("PajeDefineContainerType", "T", "P", "processor")
    yield _line("PajeDefineStateType", "S", "T", "state")
    yield _line("PajeDefineLinkType", "M", "P", "T", "T", "message")
    for state, colour in _COLOURS.items():
        yield _line("PajeDefineEntityValue", state, "S", state, colour)


def _happenings(evaluation: Evaluation) -> list[str]:
    """Return states and links by time; of equal times, messages leave before they arrive."""
    made: list[tuple[float, int, str]] = []
    ends = dict.fromkeys(range(1, len(evaluation.processors) + 1), 0.0)
    for event in evaluation.events:
        made += [(time, 1, line) for time, line in _states(event)]
        ends[event.processor] = event.end
        if event.message is not None:
            made.append(_link(event))
    for processor, end in ends.items():
        if end < evaluation.seconds * 1e6:
            made.append((end, 1, _line("PajeSetState", _time(end), "S", f"p{processor}", "idle", "")))
    return [line for _, _, line in sorted(made, key=lambda item: item[:2])]


def _states(event: TraceEvent) -> Iterator[tuple[float, str]]:
    place = f"{event.file}:{event.line}"
    for state, start, end in (("wait", event.start, event.ready), (_STATES[event.kind], event.ready, event.end)):
        if end > start:
            yield start, _line("PajeSetState", _time(start), "S", f"p{event.processor}", state, place)


def _link(event: TraceEvent) -> tuple[float, int, str]:
    name, time, order = ("PajeStartLink", event.end, 0) if event.kind == SEND else ("PajeEndLink", event.ready, 2)
    line = _line(name, _time(time), "M", "program", "message", f"p{event.processor}", str(event.message))
    return time, order, line


def _line(event: str, *values: str) -> str:
    return " ".join([str(_NUMBER[event]), *(_quoted(value) for value in values)])


def _quoted(value: str) -> str:
    """Quote a value if necessary, without quotes and line breaks.

    Pajé cannot escape these.
    """
    clean = "".join("'" if letter == '"' else letter if letter.isprintable() else "?" for letter in value)
    return clean if clean and clean.isascii() and clean.replace(".", "").replace("_", "").isalnum() else f'"{clean}"'


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e6:.12f}"
