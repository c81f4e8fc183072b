"""Start-up of watched tasks is all that the domain says they took beside their programs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest

from cosched.cli.model import task_times
from cosched.cli.model.task_times import with_task_times
from cosched.client import NotRunningError
from cosched.errors import UserError
from cosched.measurement.programs.collecting import CollectedRun
from cosched.measurement.programs.observation import Observation
from cosched.measurement.programs.records import ObservedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ATTEMPT = str(uuid.UUID(int=7))
RECORD = ObservedRun("heat", "", {}, 1, 1, "", 1e9, 0.5, (0.5,), 0.0, 1024, shim=True, calls=0, startup=0.25)


@dataclass(frozen=True)
class Domain:
    """A domain that knows some tasks; others are unknown to it, or it does not answer."""

    tasks: Mapping[str, Any] = field(default_factory=dict)
    fault: Exception = field(default_factory=lambda: UserError("there is no such task"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def task(self, task: str) -> Any:
        if task not in self.tasks:
            raise self.fault
        return SimpleNamespace(tries=self.tasks[task])


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[Domain], None]:
    return lambda domain: monkeypatch.setattr(task_times, "connect", lambda _server: domain)


def _run(task: str = "3") -> CollectedRun:
    return CollectedRun(task, Path(f"observed/{task}.{ATTEMPT}"), Observation(RECORD, ()))


def _try(attempt: str, started: float | None, finished: float | None) -> Any:
    return SimpleNamespace(uuid=attempt, started=started, finished=finished)


def _startups(runs: list[CollectedRun]) -> list[float]:
    return [run.seen.record.startup for run in runs if run.seen is not None]


def test_what_the_manager_needs_before_and_after_is_part_of_it(ask: Callable[[Domain], None]) -> None:
    """On HTCondor tasks took 0.2 to 0.3 s longer than was seen of them, which no range knew of."""
    ask(Domain({"3": [_try("another", 0.0, 900.0), _try(ATTEMPT, 100.0, 101.5)]}))
    runs, notes = with_task_times([_run()], "")
    assert (_startups(runs), notes) == ([1.0], [])


def test_a_clock_of_whole_seconds_takes_nothing_from_what_was_seen(ask: Callable[[Domain], None]) -> None:
    ask(Domain({"3": [_try(ATTEMPT, 100.0, 100.0)]}))
    assert _startups(with_task_times([_run()], "")[0]) == [0.25]


def test_runs_that_the_domain_does_not_know_keep_theirs_and_are_counted(ask: Callable[[Domain], None]) -> None:
    ask(Domain({"3": [_try(ATTEMPT, 100.0, None)], "4": [_try("another", 100.0, 200.0)]}))
    nothing = CollectedRun("6", Path(f"observed/6.{ATTEMPT}"), None, "it runs still", over=False)
    runs, notes = with_task_times([_run("3"), _run("4"), _run("5"), nothing], "")
    assert _startups(runs) == [0.25] * 3
    assert notes == [
        "`startup` lacks what the resource manager takes before and after a program: name its domain with --server "
        "(it tells no times of 3 of these runs)"
    ]


def test_a_domain_that_does_not_answer_is_named(ask: Callable[[Domain], None]) -> None:
    ask(Domain(fault=NotRunningError("no daemon at unix:/x")))
    runs, notes = with_task_times([_run()], "")
    assert _startups(runs) == [0.25]
    assert notes[0].endswith("name its domain with --server (no daemon at unix:/x)")
