from __future__ import annotations

from cosched.evaluation.budget import Budget
from cosched.evaluation.interpreter.scalar_expressions import Expressions
from cosched.evaluation.interpreter.scalar_frame import ProgramCache, ScalarFrame, ScalarRun
from cosched.language import Source
from cosched.language.syntax import Name, Position


def test_variables_of_a_procedure_hide_those_of_its_object() -> None:
    frame = ScalarFrame({"x": 1.0, "y": 2.0}, {"x": 3.0}, ScalarRun(ProgramCache(Budget(), 1)))
    expressions = Expressions(Source("", ""), {"x": "numeric", "y": "numeric"}, frozenset({"x"}), {})
    assert [expressions.number(Name(Position(1, 1), name))(frame) for name in ("x", "y")] == [3.0, 2.0]
    assert frame.values["x"] == 1.0
