"""The process that talks to HTCondor, with a stand-in for HTCondor's library."""

from __future__ import annotations

import io
import json
import os
import sys
import types
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cosched_condor import htcondor_worker
from cosched_condor.job_ads import WITHDRAWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Value(IntEnum):
    """HTCondor's library has undefined values as members of such an enumeration."""

    UNDEFINED = 2


_NO_LITERALS = {"Start": object(), "CoschedAttempt": Value.UNDEFINED}


class Event(dict[str, Any]):
    def __str__(self) -> str:
        return str(self["Text"])


class Log:
    """An event log, the second event of which cannot be read as long as something is `broken`."""

    broken: list[Exception]
    lines: tuple[str, ...] = ("000 (007.000.000) 2026-01-31 12:00:00.123Z Job submitted", "001 (007.000.000) 12:00 Job")

    def __init__(self, name: str) -> None:
        self._left = [Event(EventTypeNumber=number, Text=line, Log=name) for number, line in enumerate(self.lines)]

    def events(self, _wait: float) -> Iterator[Event]:
        while self._left:
            if self.broken and self._place() == 1:
                raise self.broken.pop()
            yield self._left.pop(0)

    def _place(self) -> int:
        return len(self.lines) - len(self._left)

    def __getstate__(self) -> tuple[dict[str, object], int]:
        return {}, self._place()


class Collector:
    located = 0

    def locate(self, kind: str, name: str | None) -> dict[str, str | None] | None:
        type(self).located += 1
        if name == "nobody":
            return None
        return {"Kind": kind, "Name": name}

    def query(self, kind: str, projection: list[str]) -> list[dict[str, Any]]:
        return [{"Machine": "node01", "Kind": kind, "Asked": ",".join(projection), **_NO_LITERALS}]


class Schedd:
    acts: ClassVar[list[tuple[str, str, str]]] = []

    def __init__(self, found: dict[str, str | None]) -> None:
        self.found = found

    def submit(self, description: str, itemdata: Iterator[dict[str, str]], spool: bool) -> types.SimpleNamespace:
        assert spool
        return types.SimpleNamespace(cluster=lambda: 7, of=description, items=list(itemdata))

    def spool(self, submitted: types.SimpleNamespace) -> None:
        if submitted.of == "unreadable":
            raise RuntimeError("cannot read run.sh")

    def act(self, action: str, constraint: str, reason: tuple[str, int]) -> dict[str, Any]:
        type(self).acts.append((action, constraint, reason[0]))
        return {"TotalSuccess": 1}

    def query(self, constraint: str, projection: list[str]) -> list[dict[str, Any]]:
        if constraint == "down":
            raise RuntimeError("Failed to\nconnect")
        return [{"Of": str(self.found["Name"]), "Constraint": constraint, "Asked": len(projection)}]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    library = types.ModuleType("htcondor2")
    daemons = types.SimpleNamespace(Schedd="schedd")
    kinds = types.SimpleNamespace(Startd="startd")
    vars(library).update(Collector=Collector, Schedd=Schedd, JobEventLog=Log, DaemonType=daemons, AdType=kinds)
    monkeypatch.setitem(sys.modules, "htcondor2", library)
    monkeypatch.setattr(Collector, "located", 0)
    monkeypatch.setattr(Schedd, "acts", [])
    vars(library).update(Submit=str, JobAction=types.SimpleNamespace(Remove="remove"))
    Log.broken = []
    return library


@pytest.fixture
def exchange(
    library: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> Callable[..., list[dict[str, Any]]]:
    """Run a worker over these requests (verb, arguments) and return its answers."""

    def run(*requests: tuple[str, dict[str, object]], schedd: str = "") -> list[dict[str, Any]]:
        lines = "".join(json.dumps({"verb": verb, "arguments": arguments}) + "\n" for verb, arguments in requests)
        with (tmp_path / "answers").open("w+b") as out:
            monkeypatch.setattr(sys, "argv", ["worker", schedd])
            monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
            monkeypatch.setattr("os.dup2", lambda *_: None)
            monkeypatch.setattr(sys, "stdout", out)
            htcondor_worker.main()
            out.seek(0)
            return [json.loads(line) for line in out.read().splitlines()]

    return run


def test_attributes_of_machines_are_spelled_as_they_were_asked_for(
    exchange: Callable[..., list[dict[str, Any]]],
) -> None:
    """ClassAds know no capital letters: a pool with GPUS seemed to have no GPUs, and all its hosts to be claimed."""
    (answer,) = exchange(("hosts", {"projection": ["MACHINE"]}))
    assert answer["answer"][0]["MACHINE"] == "node01"


def test_a_request_is_answered_by_literal_values_alone(exchange: Callable[..., list[dict[str, Any]]]) -> None:
    """An undefined mark was taken for another attempt's: a job that was called back was never let go again."""
    answers = exchange(("hosts", {"projection": ["Machine", "Start"]}))
    assert answers == [{"answer": [{"Machine": "node01", "Kind": "startd", "Asked": "Machine,Start"}]}]


@pytest.mark.parametrize(("name", "asked"), [("", "None"), ("s@h", "s@h")])
def test_the_scheduler_is_this_machines_or_the_one_that_is_named(
    exchange: Callable[..., list[dict[str, Any]]], name: str, asked: str
) -> None:
    (answer,) = exchange(("queue", {"constraint": "true", "projection": []}), schedd=name)
    assert answer["answer"] == [{"Of": asked, "Constraint": "true", "Asked": 0}]


def test_an_error_is_an_answer_of_one_line_and_the_scheduler_is_looked_up_again(
    exchange: Callable[..., list[dict[str, Any]]],
) -> None:
    fine, down = (
        ("queue", {"constraint": "true", "projection": []}),
        ("queue", {"constraint": "down", "projection": []}),
    )
    answers = exchange(fine, fine, down, fine)
    assert answers[2] == {"error": "Failed to connect", "kind": "RuntimeError"}
    assert answers[0] == answers[1] == answers[3]
    assert Collector.located == 2


def test_a_request_that_a_verb_does_not_understand_does_not_end_the_worker(
    exchange: Callable[..., list[dict[str, Any]]],
) -> None:
    answers = exchange(("queue", {"nonsense": 1}), ("queue", {"constraint": "true", "projection": []}))
    assert "nonsense" in answers[0]["error"]
    assert answers[1]["answer"]


def test_a_log_is_told_once_with_the_kind_of_its_times(exchange: Callable[..., list[dict[str, Any]]]) -> None:
    follow = ("follow", {"logs": ["/events.log"], "timeout": 0.0})
    first, second = exchange(follow, follow)
    assert [(event["EventTypeNumber"], event["Utc"]) for event in first["answer"]] == [(0, True), (1, False)]
    assert second["answer"] == []


def test_a_long_log_is_told_in_parts(
    exchange: Callable[..., list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(htcondor_worker, "_EVENTS_AT_ONCE", 1)
    follow = ("follow", {"logs": ["/events.log"], "timeout": 0.0})
    parts = [answer["answer"] for answer in exchange(follow, follow, follow)]
    assert [[event["EventTypeNumber"] for event in part] for part in parts] == [[0], [1], []]


def test_a_log_that_was_removed_or_cut_by_hand_is_told_from_its_beginning(
    exchange: Callable[..., list[dict[str, Any]]], library: types.ModuleType, tmp_path: Path
) -> None:
    """No start and no end was told any more until the daemon was started anew: each was seen up to a minute late."""
    log = tmp_path / "events.log"
    log.write_text("a line\n")

    class Changing(Log):
        def events(self, wait: float) -> Iterator[Event]:
            yield from super().events(wait)
            changes.pop(0)()

    def replace_log() -> None:
        log.rename(tmp_path / "events.log.old")
        log.write_text("another line\n")

    changes = [lambda: log.write_text("a line\nand one more\n"), lambda: os.truncate(log, 3), replace_log, bool]
    vars(library).update(JobEventLog=Changing)
    follow = ("follow", {"logs": [str(log)], "timeout": 0.0})
    told = [len(answer["answer"]) for answer in exchange(follow, follow, follow, follow)]
    assert told == [2, 0, 2, 2]


def test_after_an_error_a_log_is_told_from_its_beginning(exchange: Callable[..., list[dict[str, Any]]]) -> None:
    """The connector forgets its jobs then: what the worker had read would be missing for good."""
    Log.broken = [RuntimeError("unreadable"), RuntimeError("unreadable")]
    follow = ("follow", {"logs": ["/events.log"], "timeout": 0.0})
    failed, again = exchange(follow, follow)
    assert failed["error"] == "unreadable"
    assert [event["EventTypeNumber"] for event in again["answer"]] == [0, 1]


@pytest.mark.parametrize(
    ("description", "fence", "fault"),
    [("fine", "/no/such/mark", ""), ("unreadable", "/no/such/mark", "cannot read"), ("fine", "/", "was cancelled")],
)
def test_what_the_scheduler_has_no_files_of_is_withdrawn(
    exchange: Callable[..., list[dict[str, Any]]], description: str, fence: str, fault: str
) -> None:
    (answer,) = exchange(("submit_spooled", {"description": description, "items": [{}], "fences": {"a": fence}}))
    if fault:
        assert fault in answer["error"]
        assert Schedd.acts == [("remove", "ClusterId == 7", WITHDRAWN)]
    else:
        assert answer["answer"]["cluster"] == 7
        assert Schedd.acts == []


def test_a_scheduler_that_the_collector_does_not_show_is_named(exchange: Callable[..., list[dict[str, Any]]]) -> None:
    (answer,) = exchange(("queue", {"constraint": "true", "projection": []}), schedd="nobody")
    assert "shows no scheduler nobody" in answer["error"]


def test_the_scheduler_has_the_name_that_the_collector_knows(exchange: Callable[..., list[dict[str, Any]]]) -> None:
    assert exchange(("scheduler", {}), schedd="s@h") == [{"answer": "s@h"}]
