from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation.budget import Budget, LanesDifferError
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND
from cosched.evaluation.interpreter.programs import compiled_application, one_by_one, program
from cosched.language import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware
    from cosched.evaluation.clocks.steps import Steps

    Model = Callable[[str], Application]


def emitted(model: Model, plain: Hardware, body: str, steps: int = 10_000) -> list[tuple[int, int, int, float]]:
    """Return kind, processor, peer and amount of the steps on three processors."""
    application = model(f"proc exec init {{\n {body} }}")
    program = one_by_one(application, compiled_application(application, plain), 3, {}, Budget(steps))
    return [
        row
        for steps in program
        for row in zip(
            steps.kind.tolist(), steps.processor.tolist(), steps.peer.tolist(), steps.amount.tolist(), strict=True
        )
    ]


def test_work_on_every_processor_or_on_one(model: Model, plain: Hardware) -> None:
    found = emitted(model, plain, "step cpu { confdev 4; } step cpu on 2 { confdev 5; }")
    assert found == [(COMPUTE, 0, 0, 4), (COMPUTE, 1, 1, 4), (COMPUTE, 1, 1, 5), (COMPUTE, 2, 2, 4)]


def test_messages_have_both_ends_and_their_bytes(model: Model, plain: Hardware) -> None:
    found = emitted(model, plain, "step mpisend { confdev 3, 1, 8; } step mpirecv { confdev 3, 1, 8; }")
    assert found == [(RECEIVE, 0, 2, 8), (SEND, 2, 0, 8)]


def test_messages_from_and_to_processor_0_do_not_happen(model: Model, plain: Hardware) -> None:
    assert emitted(model, plain, "step mpisend { confdev 0, 1, 8; } step mpirecv { confdev 1, 0, 8; }") == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("step cpu { confdev -1; }", "a time of -1 us"),
        ("step cpu on 0 { confdev 1; }", "processor 0 stands for no processor"),
        ("step cpu on 4 { confdev 1; }", "processor 4 does not exist: they are numbered 1 to 3"),
        ("step mpisend { confdev 1.5, 2, 8; }", "processor 1.5 does not exist"),
        ("step mpirecv { confdev 1, -1, 8; }", "processor -1 does not exist"),
        ("step mpirecv { confdev 1, 2, -8; }", "a message of -8 bytes"),
        ("step pvmrecv { confdev 1, 2, 8; }", "hardware plain gives no costs of pvm messages"),
    ],
)
def test_faults_name_their_line(model: Model, plain: Hardware, body: str, message: str) -> None:
    with pytest.raises(ModelError, match=rf"psl:2:\d+: {message}"):
        emitted(model, plain, body)


def test_work_on_every_processor_comes_off_the_budget_for_each(model: Model, plain: Hardware) -> None:
    with pytest.raises(ModelError, match="stopped here after 29 steps"):
        emitted(model, plain, "step cpu { confdev 1; }", steps=29)


def lane_steps(model: Model, plain: Hardware, body: str) -> Steps:
    """Return the steps on 2 and on 3 hosts, whose processors are numbered through: 0, 1 and 2, 3, 4."""
    application = model(f"proc exec init {{ {body} }}")
    (steps,) = program(application, plain, np.array([2, 3]), [{"Nproc": 2.0}, {"Nproc": 3.0}], 1000)
    return steps


def test_work_on_every_processor_or_on_one_on_lanes(model: Model, plain: Hardware) -> None:
    steps = lane_steps(model, plain, "step cpu { confdev Nproc; } step cpu on Nproc { confdev 7; confdev 8; }")
    assert (steps.kind == COMPUTE).all()
    assert steps.processor.tolist() == [0, 1, 1, 1, 2, 3, 4, 4, 4]
    assert steps.amount.tolist() == [2, 2, 7, 8, 3, 3, 3, 7, 8]
    assert steps.place.tolist() == [0, 0, 1, 2, 0, 0, 0, 1, 2]


def test_messages_on_lanes_have_both_ends_and_their_bytes(model: Model, plain: Hardware) -> None:
    steps = lane_steps(model, plain, "step mpisend { confdev 1, Nproc, 8; } step mpirecv { confdev 1, Nproc, 9; }")
    rows = zip(steps.kind.tolist(), steps.processor.tolist(), steps.peer.tolist(), steps.amount.tolist(), strict=True)
    assert list(rows) == [(SEND, 0, 1, 8), (RECEIVE, 1, 0, 9), (SEND, 2, 4, 8), (RECEIVE, 4, 2, 9)]


def test_messages_from_and_to_processor_0_do_not_happen_on_lanes(model: Model, plain: Hardware) -> None:
    steps = lane_steps(model, plain, "step mpisend { confdev 1, Nproc - 2, 8; confdev Nproc - 3 + 1, 2, 8; }")
    assert list(zip(steps.processor.tolist(), steps.peer.tolist(), strict=True)) == [(2, 2), (2, 3)]


@pytest.mark.parametrize(
    "body",
    [
        "step cpu { confdev 2 - Nproc; }",
        "step cpu on 3 { confdev 1; }",
        "step cpu on Nproc - 2 { confdev 1; }",
        "step cpu on Nproc / 2 { confdev 1; }",
        "step mpisend { confdev 1, 3, 8; }",
        "step mpisend { confdev 1, -1, 8; }",
        "step mpisend { confdev 1, 2, 2 - Nproc; }",
    ],
)
def test_a_fault_on_one_lane_is_left_to_each_by_itself(model: Model, plain: Hardware, body: str) -> None:
    with pytest.raises(LanesDifferError):
        lane_steps(model, plain, body)
