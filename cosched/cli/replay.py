"""`cosched replay`: a recording of a domain, run again."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.api.documents import ExplanationView
from cosched.api.times import format_time
from cosched.app.views.explanation_views import explanation_view
from cosched.cli.output import JsonOption, clean, emit_json
from cosched.cli.task.text import explanation_lines
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import ScheduleImproved
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.log_entries import log_entries
from cosched.coscheduler.recording.lines import CutLine, RecordedStart, read_recording
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.errors import SystemFault, UserError

__all__ = ["command"]

_LATEST = 1e11  # seconds since 1970, in the year 5138: milliseconds are more, and what is expected then has a date yet


@dataclass(frozen=True, slots=True)
class _Shown:
    """One event as it is shown: what became of tasks, what was decided, and why."""

    number: int
    time: float
    event: str
    changed: dict[str, str] = field(default_factory=dict)
    decided: tuple[str, ...] = ()
    explanations: tuple[ExplanationView, ...] = ()


def command(
    file: Annotated[Path, typer.Argument(help="That `cosched domain record` has saved.")],
    task: Annotated[str, typer.Option("--task", metavar="ID", help="Only this task: what became of it, and why.")] = "",
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help="Why tasks waited then: a time as shown, or seconds since 1970.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Run a recording through the core and show its decisions.

    Exit code 2 says that they differ from the recorded ones.
    """
    until = _moment(at) if at else None
    story = _Story(task)
    for shown in _told(file, story, until):
        if not json:
            _print(shown)
    if json:
        emit_json(story.document(str(file)))
    if task and not story.known:
        raise UserError(f"{file} knows no task {task!r}: leave --task out to see those it has")
    if story.differs:
        raise SystemFault(story.differs)
    if not json:
        sys.stdout.write(f"{story.events} events replayed as cosched {story.recorder} recorded them\n")


def _told(file: Path, story: "_Story", until: float | None) -> Iterator[_Shown]:
    """Replay a file and yield each event to show, or the state at a time."""
    with _opened(file) as lines:
        for each in replay(read_recording(lines, str(file))):
            if isinstance(each, CutLine):
                sys.stderr.write(f"cosched: {clean(str(file))}:{each.number}: this line is cut short and left out\n")
                continue
            if until is not None and _time(each) >= until + 1:  # times are shown in whole seconds
                break
            shown = story.take(each, explained=until is None)
            if shown is not None:
                yield shown
            if story.differs:
                return
    if until is not None:
        yield story.explain_all(until)


class _Story:
    """Collects what a replay shows.

    Attributes:
        shown: the events that are worth it.
        events: how many were replayed.
        recorder: version of cosched that recorded.
        known: whether the task asked for was met.
        differs: the first difference from the recording, one line; empty while there is none.
    """

    def __init__(self, task: str) -> None:
        self.shown: list[_Shown] = []
        self.events = 0
        self.recorder = ""
        self.known = False
        self.differs = ""
        self._task = task
        self._core: Coscheduler | None = None
        self._said: tuple[Any, ...] = ()

    def take(self, each: ReplayedEvent | RecordedStart, *, explained: bool) -> _Shown | None:
        """Take the next step of the replay; return its event to show, or None."""
        if isinstance(each, RecordedStart):
            self.recorder = each.cosched
            self.known = self.known or any(task.id == self._task for task in each.snapshot.tasks)
            return None
        self.events, self._core = each.number, each.core
        self.differs = _difference(each)
        if self.differs or each.outcome is None:
            return None
        self.known = self.known or self._task in each.outcome.changes.tasks
        shown = self._shown(each) if explained else None
        if shown is not None:
            self.shown.append(shown)
        return shown

    def explain_all(self, time: float) -> _Shown:
        """Return why each task, or the selected one, is where it is at a time."""
        core = self._core
        names = () if core is None else [self._task] if self._task else list(core.tasks)
        explanations = () if core is None else tuple(_explanations(core, names, time))
        self.shown.append(_Shown(self.events, time, "the last one until then", explanations=explanations))
        return self.shown[-1]

    def document(self, file: str) -> dict[str, Any]:
        """Return all that is shown, for JSON."""
        return {
            "file": file,
            "recorded_by": self.recorder,
            "replayed_by": version("cosched"),
            "events": self.events,
            "shown": [asdict(each) for each in self.shown],
            "differs": self.differs or None,
        }

    def _shown(self, each: ReplayedEvent) -> _Shown | None:
        assert each.outcome is not None
        event, changes, decided = each.recorded.event, each.outcome.changes, each.decided
        quiet = not (changes or decided or isinstance(event, ScheduleImproved))
        if quiet:
            return None
        if self._task:
            explanations = self._new_explanations(each)
            if self._task not in changes.tasks and not explanations:
                return None
        else:
            leaving = [one.task.id for one in each.outcome.decisions if isinstance(one, DispatchAttempt)]
            explanations = tuple(_explanations(each.core, leaving, event.time))
            if not (changes or decided):
                return None
        changed = {
            task.id: f"{task.status.state}: {task.status.reason}" if task.status.reason else str(task.status.state)
            for task in changes.tasks.values()
            if self._task in ("", task.id)
        }
        return _Shown(each.number, event.time, _words(each), changed, decided, explanations)

    def _new_explanations(self, each: ReplayedEvent) -> tuple[ExplanationView, ...]:
        """Return the explanation of the task asked for where its reasons are others than before."""
        found = tuple(_explanations(each.core, [self._task], each.recorded.event.time))
        said = tuple((one.state, one.planned_hosts, _without_figures(one.waits_for)) for one in found)
        before, self._said = self._said, said
        return found if said != before else ()


def _explanations(core: Coscheduler, tasks: list[str] | tuple[str, ...], time: float) -> Iterator[ExplanationView]:
    for name in tasks:
        found = explain(core, name, time)
        if found is not None:
            yield explanation_view(found, core)


def _without_figures(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Return sentences without numbers of seconds, which change all the time."""
    return tuple(re.sub(r"[\d.]+ s\b", "", sentence) for sentence in sentences)


def _words(each: ReplayedEvent) -> str:
    event = each.recorded.event
    if each.outcome is not None:
        for entry in log_entries([event], each.outcome.changes):
            return " ".join(part for part in (entry.kind, f"task {entry.task}" if entry.task else "") if part)
    return re.sub(r"(?<!^)([A-Z])", r" \1", type(event).__name__).lower()


def _difference(each: ReplayedEvent) -> str:
    """Return where a replay differed from the recording or failed as recorded; else empty."""
    event, this = each.recorded.event, version("cosched")
    where = f"event {each.number} ({_words(each)}, {format_time(event.time)})"
    if each.failure is not None:
        also = "as it did for" if not each.recorded.digest else "which it did not for"
        return f"the core fails at {where}, {also} cosched {each.recorder}: {each.failure!r}"
    if each.same:
        return ""
    recorded, now = ("; ".join(texts) or "nothing" for texts in (each.recorded.decided, each.decided))
    if not each.recorded.digest:
        recorded = "a failure of the core"
    elif recorded == now:
        return (
            f"differs at {where}: tasks, attempts or reservations are not as cosched {each.recorder} recorded them; "
            f"this is cosched {this}; decided by both: {now}"
        )
    return f"differs at {where}: recorded by cosched {each.recorder}: {recorded}; this is cosched {this}: {now}"


def _time(each: ReplayedEvent | RecordedStart) -> float:
    return each.time if isinstance(each, RecordedStart) else each.recorded.event.time


def _moment(text: str) -> float:
    """Return a time in seconds since the epoch.

    Raises:
        UserError: it is none, or one that no recording is of.
    """
    found = _seconds(text)
    if not 0 <= found <= _LATEST:
        raise UserError(f"--at {text!r} is no time: write 2026-11-22 18:30:00+01:00, or seconds since 1970")
    return found


def _seconds(text: str) -> float:
    """Return the seconds that a text says; NaN where it says none."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def _opened(file: Path) -> Any:
    try:
        return file.open("rb")
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}") from None


def _print(shown: _Shown) -> None:
    lines = [f"event {shown.number}  {format_time(shown.time)}  {shown.event}"]
    lines += [f"  {text}" for text in shown.decided]
    explained = {each.task for each in shown.explanations}
    lines += [f"  task {task} is {text}" for task, text in shown.changed.items() if task not in explained]
    lines += [f"  {line}" for each in shown.explanations for line in explanation_lines(each)]
    sys.stdout.write("".join(f"{clean(line)}\n" for line in lines))
