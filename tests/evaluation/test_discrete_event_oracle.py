"""The whole engine, from PSL and HMCL text on, against a simulation that has worked the costs out by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation import engine, evaluate, load_hardware, profile
from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.interpreter import programs as array_programs
from tests.evaluation.makers import programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use, simulate
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.evaluation import Application, Hardware


@dataclass(frozen=True)
class Class:
    """A kind of host: what a unit of work takes, and the fixed and the sized part of each part of a message.

    Memory: how many bytes its cache holds, and bytes a microsecond from there and from beyond.

    Costs are multiples of an eighth, so that sums do not depend on their order.
    """

    work: float
    network: tuple[float, float]
    ends: tuple[float, float]
    inside: tuple[float, float] | None
    processors: int
    memory: tuple[float, float, float] = (8.0, 1.0, 1.0)

    def text(self, name: str) -> str:
        """Return the configuration."""
        shared = [] if self.inside is None else [("shm", self.inside, (0.0, 0.0))]
        groups = ""
        for group, network, ends in [("mpi", self.network, self.ends), *shared]:
            costs = (("COMM", network), ("TSEND", ends), ("TRECV", ends))
            lines = [
                f"DD_{cost}_A = 1e9, DD_{cost}_B = {fixed}, DD_{cost}_C = {sized};" for cost, (fixed, sized) in costs
            ]
            lines += [f"DD_{cost}_D = 0, DD_{cost}_E = 0;" for cost, _ in costs]
            groups += f" {group} {{ {' '.join(lines)} }}"
        own = f"hardware {{ processors = {self.processors}; }} clc {{ AFDL = {self.work}; }}"
        size, near, far = self.memory
        memory = f" memory {{ L1_size = {size}, L1_bandwidth = {near}, bandwidth = {far}; }}"
        return f"config {name} {{ {own}{groups}{memory} }}"

    def time(self, units: float) -> float:
        """Return what units of work take that move 8 bytes each and go over one."""
        size, near, far = self.memory
        return units * self.work + 8 * units / (near if units <= size else far)


EIGHTHS = st.integers(0, 40).map(lambda value: value / 8)
PAIRS = st.tuples(EIGHTHS, EIGHTHS)
RATES = st.sampled_from([0.5, 1.0, 2.0, 8.0])
MEMORIES = st.tuples(st.integers(1, 9).map(float), RATES, RATES)
CLASSES = st.builds(Class, EIGHTHS, PAIRS, PAIRS, st.none() | PAIRS, st.integers(1, 3), MEMORIES)
HOSTS = st.lists(st.integers(0, 1), min_size=1, max_size=5)


def cluster(folder: Path, classes: tuple[Class, Class], hosts: list[int]) -> Hardware:
    """Write both classes and the list of hosts, and load it."""
    for name, kind in zip(("first", "second"), classes, strict=True):
        (folder / f"{name}.hmcl").write_text(kind.text(name))
    runs = {name: hosts.count(number) for number, name in enumerate(("first", "second")) if number in hosts}
    listed = ", ".join(f"{name} = {count}" for name, count in runs.items())
    (folder / "mixed.hmcl").write_text(f"config mixed {{ hosts {{ {listed}; }} }}")
    return load_hardware(folder / "mixed.hmcl")


def psl(uses: list[Use]) -> str:
    """Write a program out; the cost of a use is its units of work, or the bytes of a message."""
    lines = {
        COMPUTE: "step cpu on {0} {{ confdev w({2}); }}",
        SEND: "step mpisend {{ confdev {0}, {1}, {2}; }}",
        RECEIVE: "step mpirecv {{ confdev {1}, {0}, {2}; }}",
    }
    body = " ".join(lines[use.kind].format(use.processor + 1, use.peer + 1, use.cost) for use in uses)
    return f"proc exec init {{ {body} }} proc cflow w(n) {{ compute <is clc, n*AFDL>; compute <is memory, 8 * n, n>; }}"


def priced(uses: list[Use], classes: tuple[Class, Class], hosts: list[int]) -> list[Use]:
    """Work out what each use costs where its processor and its peer are."""
    where = [host for host, kind in enumerate(hosts) for _ in range(classes[kind].processors)]
    made = []
    for use in uses:
        own, other = (classes[hosts[where[processor]]] for processor in (use.processor, use.peer))
        if use.kind == COMPUTE:
            made.append(Use(COMPUTE, use.processor, own.time(use.cost)))
            continue
        within = where[use.processor] == where[use.peer] and own.inside is not None
        fixed, sized = (0.0, 0.0) if within else own.ends
        ways = [own.inside or (0.0, 0.0)] if within else [own.network, other.network]
        transfer = max(b + c * use.cost for b, c in ways)
        made.append(Use(use.kind, use.processor, fixed + sized * use.cost, use.peer, transfer))
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(13))
@given(programs(most=12), CLASSES, CLASSES, HOSTS, st.booleans())
def test_random_templates_on_random_hosts(
    model: Callable[[str], Application],
    tmp_path: Path,
    program: tuple[int, list[Use]],
    first: Class,
    second: Class,
    hosts: list[int],
    one_by_one: bool,
) -> None:
    classes, listed = (first, second), sorted(hosts)
    processors = sum(classes[kind].processors for kind in listed)
    count, drawn = program
    # The program's processors are dealt to those that there are. A receive takes as many bytes as its send.
    uses = [use if use.kind == COMPUTE else Use(use.kind, use.processor, 8.0, use.peer) for use in drawn]
    if count > processors:
        return
    expected = simulate(processors, priced(uses, classes, listed), [0.0] * processors)
    hardware, application = cluster(tmp_path, classes, hosts), model(psl(uses))
    refuse = {"side_effect": LanesDifferError} if one_by_one else {"wraps": array_programs.program}
    with mock.patch.object(engine, "program", **refuse):
        found = evaluate(application, hardware, len(hosts), trace=True)
    assert found.seconds * 1e6 == pytest.approx(max(expected), abs=1e-5)
    for index, times in enumerate(found.processors):
        last = max((event.end for event in found.events if event.processor == index + 1), default=0.0)
        assert last == pytest.approx(expected[index], abs=1e-5)
        assert sum(times) == pytest.approx(found.seconds, abs=1e-11)


def test_two_classes_and_shared_memory_by_hand(model: Callable[[str], Application], tmp_path: Path) -> None:
    fast = Class(1.0, (10.0, 0.125), (1.0, 0.0), (0.5, 0.0), 2)
    slow = Class(3.0, (20.0, 0.25), (2.0, 0.0), None, 1)
    application = model("""proc exec init {
        step cpu { confdev w(); }
        step mpisend { confdev 1, 2, 8; } step mpirecv { confdev 1, 2, 8; }
        step mpisend { confdev 2, 3, 8; } step mpirecv { confdev 2, 3, 8; }
    } proc cflow w { compute <is clc, 4*AFDL>; }""")
    hardware = cluster(tmp_path, (fast, slow), [0, 1])
    found = evaluate(application, hardware, 2)
    # Processors 1 and 2 share a host and work 4 us, processor 3 works 12. Within the host the message has no overhead
    # and takes 0.5: processor 2 has it at 4.5 and sends until 5.5. The slower network takes 20 + 2: there at 27.5,
    # received by processor 3 in 2 us.
    assert found.seconds * 1e6 == pytest.approx(29.5)
    assert [time.compute * 1e6 for time in found.processors] == pytest.approx([4, 4, 12])
    # On the first host alone there are two processors, and no third to send to; three hosts are not listed.
    alone = model("proc exec init { step cpu { confdev 6 / Nproc; } }")
    assert profile(alone, hardware, [1, 2, 3]).tolist() == pytest.approx([3e-6, 2e-6, math.inf])


def test_conditions_on_costs_have_no_meaning_on_several_classes(
    model: Callable[[str], Application], tmp_path: Path
) -> None:
    kinds = Class(1.0, (1.0, 0.0), (1.0, 0.0), None, 1), Class(3.0, (1.0, 0.0), (1.0, 0.0), None, 1)
    application = model("""proc exec init { if (w() > 5) step cpu { confdev 1; } }
        proc cflow w { compute <is clc, 4*AFDL>; }""")
    with pytest.raises(UserError, match="depends on what the work costs"):
        evaluate(application, cluster(tmp_path, kinds, [0, 1]), 2)
