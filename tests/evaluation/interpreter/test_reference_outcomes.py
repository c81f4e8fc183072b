"""Random programs against the outcomes of an evaluator that took one statement after another, on one number of hosts.

`reference_outcomes.json` was written by that evaluator when the interpreter replaced it: run times on 1 to 5 hosts, or
the first fault with its line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.evaluation import profile
from tests.evaluation.interpreter.test_interpreter_equivalence import one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

REFERENCE = json.loads(Path(__file__).with_name("reference_outcomes.json").read_text(encoding="utf-8"))
COUNTS = range(1, 6)


def test_outcomes_are_those_of_the_reference(
    model: Callable[[str], Application], plain: Hardware, tmp_path: Path
) -> None:
    """All turns at once, and statement by statement."""
    for case in REFERENCE["cases"]:
        application = model(REFERENCE["program"].replace("BODY", case["body"]))
        for found in (_at_once(application, plain, case["a"]), one_by_one(application, plain, COUNTS, a=case["a"])):
            if isinstance(case["expected"], str):
                assert found == f"{tmp_path}/{case['expected']}", case
            else:
                assert found == pytest.approx(case["expected"], rel=1e-9, abs=1e-9), case


def _at_once(application: Application, hardware: Hardware, a: float) -> list[float] | str:
    try:
        seconds: list[float] = profile(application, hardware, COUNTS, {"a": a}).tolist()
    except UserError as error:
        return str(error)
    return seconds
