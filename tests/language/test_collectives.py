from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import evaluate, load, profile
from cosched.language import ModelError, Source, parse_psl
from cosched.language.checks.objects import check_object
from cosched.language.collectives import expand
from cosched.language.syntax import Step, walk
from tests.models.library import library_hardware

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.evaluation import Application


def application(path: Path, body: str) -> Application:
    file = path / "all.psl"
    file.write_text(f"application all {{ var numeric: i; proc exec init {{\n {body}\n }} }}")
    return load(file)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11])
@pytest.mark.parametrize(
    ("step", "messages"),
    [
        ("step mpibcast { confdev Nproc, 40; }", lambda n: n - 1),
        ("step mpireduce { confdev Nproc, 40, 3; }", lambda n: n - 1),
        ("step mpiallreduce { confdev 40, 3; }", lambda n: 2 * (n - 1)),
        ("step mpibarrier { }", lambda n: 2 * (n - 1)),
        ("step mpialltoall { confdev 40; }", lambda n: n * (n - 1)),
        ("for (i = 1; i <= 3; i = i + 1) if (i > 1) step mpibarrier { }", lambda n: 4 * (n - 1)),
    ],
)
def test_messages(tmp_path: Path, step: str, messages: object, count: int) -> None:
    assert callable(messages)
    model, hardware = application(tmp_path, step), library_hardware("sgi_origin2000")
    result = evaluate(model, hardware, count)
    assert (result.messages, result.unreceived) == (messages(count), 0)
    assert result.bytes_sent == (0 if "barrier" in step else 40 * messages(count))
    assert profile(model, hardware, [count])[0] == pytest.approx(result.seconds)


def test_a_broadcast_takes_as_many_rounds_as_its_tree_is_high(tmp_path: Path) -> None:
    model, hardware = application(tmp_path, "step mpibcast { confdev 3, 0; }"), library_hardware("sgi_origin2000")
    # TSEND, COMM and TRECV of nothing take 5 us each. The last to know got it through every round.
    for count in (4, 8, 16):
        assert evaluate(model, hardware, count).seconds == pytest.approx(math.log2(count) * 15e-6)


def test_nobody_leaves_a_barrier_before_the_last_has_come(tmp_path: Path) -> None:
    model = application(tmp_path, "step cpu on 2 { confdev 500; } step mpibarrier { } step cpu { confdev 1; }")
    events = evaluate(model, library_hardware("sgi_origin2000"), 5, trace=True).events
    assert min(event.start for event in events if event.kind == 0 and event.end - event.start == 1) >= 500


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("step mpibcast { confdev 0, 8; }", r"all\.psl:2:\d+: processor 0 stands for no processor"),
        ("step mpibcast { confdev 3, 8; }", r"all\.psl:2:\d+: processor 3 does not exist"),
        ("step mpireduce { confdev 1.5, 8, 0; }", r"all\.psl:2:\d+: processor 1.5 does not exist"),
        ("step mpialltoall { confdev -1; }", r"all\.psl:2:\d+: a message of -1 bytes"),
    ],
)
def test_faults_are_shown_at_the_step(tmp_path: Path, step: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        profile(application(tmp_path, step), library_hardware("sgi_origin2000"), [2])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("step mpibcast { confdev 1; }", "confdev of mpibcast takes root, bytes: not 1 values"),
        ("step mpibarrier { confdev 1; }", "confdev of mpibarrier takes nothing: not 1 values"),
        ("step mpialltoall on 1 { confdev 8; }", "mpialltoall takes no `on`: all processors take part"),
        ("step mpiallredce { confdev 8, 1; }", "device mpiallredce is not known: did you mean mpiallreduce"),
    ],
)
def test_uses_are_checked(step: str, message: str) -> None:
    (item,) = parse_psl(Source("x.psl", f"partmp t {{ proc exec init {{ {step} }} }}"))
    (fault,) = check_object(item)
    assert fault.message.startswith(message)


def test_an_object_without_collectives_stays_as_it_is() -> None:
    (item,) = parse_psl(Source("x.psl", "partmp t { proc exec init { step cpu { confdev 1; } } }"))
    assert expand(item) is item


def test_what_is_expanded_uses_plain_devices_at_the_place_of_the_step() -> None:
    (item,) = parse_psl(Source("x.psl", "partmp t { proc exec init {\n step mpiallreduce { confdev 8, 1; } } }"))
    steps = [node for procedure in expand(item).procedures for node, _ in walk(procedure) if isinstance(node, Step)]
    assert {step.device for step in steps} == {"cpu", "mpisend", "mpirecv"}
    assert {step.at.line for step in steps} == {2}
