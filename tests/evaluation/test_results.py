from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from cosched.evaluation import evaluate, load
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND
from cosched.evaluation.results import TRANSFER
from tests.models.library import library_hardware

if TYPE_CHECKING:
    from cosched.evaluation import Evaluation


def result(trace: bool = False) -> Evaluation:
    return evaluate(load("jacobi"), library_hardware("sgi_origin2000"), 4, {"iterations": 2}, trace=trace)


def test_kinds_of_steps_and_the_networks_part_are_told_apart() -> None:
    assert len({COMPUTE, SEND, RECEIVE, TRANSFER}) == 4
    assert {part.kind for part in result().path} == {COMPUTE, SEND, RECEIVE, TRANSFER}


def test_everything_is_plain_numbers_that_json_has_words_for() -> None:
    document = asdict(result(trace=True))
    assert json.loads(json.dumps(document, allow_nan=False))["messages"] == document["messages"]


def test_a_trace_is_there_only_where_it_is_wanted() -> None:
    assert result().events == ()
    assert result() != result(trace=True)
