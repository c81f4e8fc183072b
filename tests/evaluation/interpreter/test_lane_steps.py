from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND
from cosched.evaluation.interpreter.programs import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware
    from cosched.evaluation.clocks.steps import Steps

    Model = Callable[[str], Application]


def emitted(model: Model, plain: Hardware, body: str) -> Steps:
    """Return the steps on 2 and on 3 hosts, whose processors are numbered through: 0, 1 and 2, 3, 4."""
    application = model(f"proc exec init {{ {body} }}")
    (steps,) = program(application, plain, np.array([2, 3]), [{"Nproc": 2.0}, {"Nproc": 3.0}], 1000)
    return steps


def test_work_on_every_processor_or_on_one(model: Model, plain: Hardware) -> None:
    steps = emitted(model, plain, "step cpu { confdev Nproc; } step cpu on Nproc { confdev 7; confdev 8; }")
    assert (steps.kind == COMPUTE).all()
    assert steps.processor.tolist() == [0, 1, 1, 1, 2, 3, 4, 4, 4]
    assert steps.amount.tolist() == [2, 2, 7, 8, 3, 3, 3, 7, 8]
    assert steps.place.tolist() == [0, 0, 1, 2, 0, 0, 0, 1, 2]


def test_messages_have_both_ends_and_their_bytes(model: Model, plain: Hardware) -> None:
    steps = emitted(model, plain, "step mpisend { confdev 1, Nproc, 8; } step mpirecv { confdev 1, Nproc, 9; }")
    rows = zip(steps.kind.tolist(), steps.processor.tolist(), steps.peer.tolist(), steps.amount.tolist(), strict=True)
    assert list(rows) == [(SEND, 0, 1, 8), (RECEIVE, 1, 0, 9), (SEND, 2, 4, 8), (RECEIVE, 4, 2, 9)]


def test_messages_from_and_to_processor_0_do_not_happen(model: Model, plain: Hardware) -> None:
    steps = emitted(model, plain, "step mpisend { confdev 1, Nproc - 2, 8; confdev Nproc - 3 + 1, 2, 8; }")
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
        emitted(model, plain, body)
