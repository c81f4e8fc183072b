from __future__ import annotations

import pytest

from cosched.evaluation.budget import DEEPEST_CALLS, Budget
from cosched.evaluation.interpreter.scalar_frame import ProgramCache, ScalarRun
from cosched.language import ModelError, Source
from cosched.language.syntax import Position

SOURCE, AT = Source("x.psl", ""), Position(1, 1)


def test_steps_before_a_call_are_a_segment_of_their_own() -> None:
    run = ScalarRun(ProgramCache(Budget(), 2))
    run.flush()
    assert run.program == []
    run.recorder.compute(range(2), 3, 0)
    run.flush()
    run.recorder.compute(range(1), 5, 0)
    run.flush()
    assert [steps.amount.tolist() for steps in run.program] == [[3, 3], [5]]


def test_calls_nest_only_so_deep() -> None:
    run = ScalarRun(ProgramCache(Budget(), 1))
    for _ in range(DEEPEST_CALLS):
        run.enter(SOURCE, AT)
    with pytest.raises(ModelError, match="calls are nested deeper than 40"):
        run.enter(SOURCE, AT)
