"""The Pajé file read by a parser of its own, written after the rules of the format."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import Application, Hardware, evaluate, load
from cosched.evaluation.export.paje import paje_trace
from tests.models.library import library_hardware
from tests.testbed.software import pajeng

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class Trace:
    """What a viewer would know after reading a file; whatever breaks a rule is an AssertionError."""

    events: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)  # alias → kind
    values: set[str] = field(default_factory=set)
    alive: dict[str, str] = field(default_factory=dict)  # container → type
    states: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    links: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    now: float = 0.0

    def read(self, text: str) -> Trace:
        name, names = "", list[str]()
        for line in text.splitlines():
            if line.startswith("%EventDef"):
                _, name, number = line.split()
                names = []
                self.events[number] = (name, names)
            elif line.startswith("%EndEventDef"):
                assert names
            elif line.startswith("%"):
                part, kind = line[1:].split()
                assert kind in ("string", "date", "color", "double", "int", "hex")
                names.append(part)
            else:
                number, *values = shlex.split(line)
                name, names = self.events[number]
                assert len(values) == len(names), line
                self.happen(name, dict(zip(names, values, strict=True)))
        assert not self.alive
        return self

    def happen(self, name: str, event: dict[str, str]) -> None:
        if "Time" in event:
            assert float(event["Time"]) >= self.now, "events go by time"
            self.now = float(event["Time"])
        if name.startswith("PajeDefine"):
            self.define(name, event)
        elif name == "PajeCreateContainer":
            assert self.types[event["Type"]] == "ContainerType"
            assert event["Container"] in {"0", *self.alive}
            self.alive[event["Alias"]] = event["Type"]
        elif name == "PajeDestroyContainer":
            assert self.alive.pop(event["Name"]) == event["Type"]
        elif name == "PajeSetState":
            assert self.types[event["Type"]] == "StateType"
            assert event["Container"] in self.alive
            assert event["Value"] in self.values
            self.states.setdefault(event["Container"], []).append((self.now, event["Value"]))
        else:
            self.link(name, event)

    def define(self, name: str, event: dict[str, str]) -> None:
        assert event["Type"] == "0" or event["Type"] in self.types
        assert event["Alias"] not in self.types
        if name == "PajeDefineEntityValue":
            assert self.types[event["Type"]] == "StateType"
            assert all(0 <= float(part) <= 1 for part in event["Color"].split())
            self.values.add(event["Alias"])
        else:
            self.types[event["Alias"]] = name.removeprefix("PajeDefine")

    def link(self, name: str, event: dict[str, str]) -> None:
        assert self.types[event["Type"]] == "LinkType"
        assert event["Container"] in self.alive
        ends = self.links.setdefault(event["Key"], [])
        assert (name == "PajeStartLink") == (not ends), "a link starts before it ends"
        assert len(ends) < 2
        who = event["StartContainer" if name == "PajeStartLink" else "EndContainer"]
        assert who in self.alive
        ends.append((self.now, who))


def test_a_message_by_hand(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""proc exec init { step mpisend { confdev 1, 2, 100; } step mpirecv { confdev 1, 2, 100; }
        step cpu on 1 { confdev 5; } }""")
    found = Trace().read(paje_trace(evaluate(application, plain, 2, trace=True), 'one "message"\n'))
    # TSEND 2 us, COMM 20 us: the message arrives at 22; TRECV 6 us, until 28.
    assert found.states["p1"] == [(0, "send"), (2e-6, "compute"), (7e-6, "idle")]
    assert found.states["p2"] == [(0, "wait"), (22e-6, "receive")]
    assert found.links == {"1": [(2e-6, "p1"), (22e-6, "p2")]}


@pytest.mark.parametrize("name", ["jacobi", "sweep3d", "memsort"])
def test_a_trace_of_the_library_keeps_the_rules(name: str) -> None:
    application, hardware = load(name), library_hardware("x86_64_gigabit")
    small = {"jacobi": {"iterations": 3}, "sweep3d": {"iterations": 1, "kt": 10}}.get(name, {})
    evaluation = evaluate(application, hardware, 4, small, trace=True)
    found = Trace().read(paje_trace(evaluation, name))
    assert len(found.links) == evaluation.messages
    assert all(len(ends) == 2 for ends in found.links.values())
    assert found.now == pytest.approx(evaluation.seconds)
    for number, times in enumerate(evaluation.processors, start=1):
        states = [*found.states[f"p{number}"], (evaluation.seconds, "")]
        busy = sum(later - time for (time, state), (later, _) in pairwise(states) if state == "compute")
        assert busy == pytest.approx(times.compute, rel=1e-6, abs=1e-9)


def test_a_program_without_steps_has_a_trace(model: Callable[[str], Application], plain: Hardware) -> None:
    assert Trace().read(paje_trace(evaluate(model("proc exec init { }"), plain, 2, trace=True), "empty")).states == {}


@pytest.mark.pool
def test_pajeng_reads_every_state_and_message(tmp_path: Path) -> None:
    result = evaluate(load("jacobi"), library_hardware("sgi_origin2000"), 4, {"iterations": 3}, trace=True)
    path = tmp_path / "jacobi.paje"
    path.write_text(paje_trace(result, "jacobi"), encoding="utf-8")
    text, complaints = pajeng.dump(path)
    rows = [line.split(", ") for line in text.splitlines()]
    messages = [row for row in rows if row[0] == "Link"]
    assert (complaints, len(messages)) == ("", result.messages)
    for number, times in enumerate(result.processors, start=1):
        spent = sum(
            float(row[5]) for row in rows if row[:2] == ["State", f"processor {number}"] and row[7] == "compute"
        )
        assert spent == pytest.approx(times.compute, abs=1e-4)
