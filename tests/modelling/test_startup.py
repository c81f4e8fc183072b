"""Launchers take their time, too: models of watched runs know it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.evaluation import Hardware, error, load, profile
from cosched.modelling.fitting import fit_runs
from cosched.modelling.points import TimedRun
from cosched.modelling.startup import StartUp, start_up
from cosched.modelling.writing import model_text

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.evaluation import Application

RUNS = [
    TimedRun({"n": float(n)}, processors, 1e-4 * n / processors, processors, startup=0.8 + 0.1 * place, by_task=True)
    for place in range(3)
    for n in (100, 200, 400, 800)
    for processors in (1, 2)
]


def test_the_median_counts_with_how_far_it_varies() -> None:
    runs, start = start_up(RUNS)
    assert runs == RUNS
    assert start is not None
    assert start.seconds == pytest.approx(0.9)
    assert start.error == pytest.approx(0.32, abs=0.01)
    wild = [replace(run, startup=0.1 if place % 2 else 10.0) for place, run in enumerate(RUNS)]
    assert (found := start_up(wild)[1]) is not None
    assert found.error == pytest.approx(6.389, abs=0.001)


def test_few_runs_are_less_sure_than_many() -> None:
    """Nine in ten of normal values were counted as if the runs told their deviation exactly."""
    generator, held = np.random.default_rng(17), []
    for _ in range(400):
        few = np.exp(generator.normal(0.0, 0.3, 3))
        start = start_up([replace(RUNS[0], startup=float(each)) for each in few])[1]
        assert start is not None
        next_one = math.exp(generator.normal(0.0, 0.3))
        held.append(start.seconds * (1 - start.below) <= next_one <= start.seconds * (1 + start.above))
    assert 0.85 < np.mean(held) < 0.95
    errors = [found.error for runs in (1, 2, 5, 200) if (found := start_up([RUNS[0]] * runs)[1]) is not None]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.7
    assert errors[-1] == pytest.approx(0.25, abs=0.01)  # other hosts and hours


def test_launchers_of_a_terminal_tell_little_of_those_of_tasks() -> None:
    """Real tasks' took a seventh on Slurm, and half as long again on HTCondor; ranges held neither."""
    _, here = start_up([replace(run, by_task=False) for run in RUNS])
    assert here is not None
    assert here.seconds * (1 - here.below) < 0.9 / 7
    assert here.seconds * (1 + here.above) > 0.9 * 1.5
    assert "and of tasks 0.09 to 2.4 s: `cosched task submit --observe` tells it there" in here.told()


def test_a_manager_needs_its_time_however_short_launchers_are() -> None:
    """A terminal's 0.14 s, twice at most, held none of HTCondor's 0.41 to 0.86 s on an idle machine."""
    _, here = start_up([replace(run, startup=0.14, by_task=False) for run in RUNS])
    assert here is not None
    assert here.seconds * (1 + here.above) > 0.86
    _, there = start_up([replace(run, startup=0.14) for run in RUNS])
    assert there is not None
    assert there.seconds * (1 + there.above) < 0.2  # what tasks took has it


def test_runs_of_which_some_tell_it_are_taken_as_a_whole() -> None:
    whole = TimedRun({"n": 100.0}, 1, 2.0)
    runs, start = start_up([RUNS[0], whole])
    assert start is None
    assert [run.seconds for run in runs] == [pytest.approx(0.81), 2.0]
    assert start_up([whole]) == ([whole], None)


def test_a_model_foretells_both_and_how_sure_it_is_of_either(tmp_path: Path) -> None:
    runs, start = start_up(RUNS)
    assert start is not None
    file = tmp_path / "heat.psl"
    file.write_text(model_text(fit_runs("heat", runs), "2026-11-24", (), start))
    model, machine = load(str(file)), Hardware("any", {}, {})
    short, long = {"n": 100.0}, {"n": 800.0, "launcher": 0.0}
    assert profile(model, machine, [1, 2], short) == pytest.approx([0.91, 0.905], rel=1e-3)
    assert profile(model, machine, [1, 2], long) == pytest.approx([0.08, 0.04], rel=1e-3)
    (high,) = _above(model, machine, short)
    (least,) = _above(model, machine, long)
    assert 0.3 < high < start.above
    assert least < 0.1


def _above(model: Application, machine: Hardware, values: dict[str, float]) -> list[float]:
    stated = error(model, machine, [1], values)
    assert stated is not None
    _, high = stated.around(profile(model, machine, [1], values))
    return [float(high[0] / profile(model, machine, [1], values)[0]) - 1]


def test_a_parameter_of_its_name_is_refused() -> None:
    runs = [replace(run, parameters={"launcher": run.parameters["n"]}) for run in RUNS]
    with pytest.raises(UserError, match=re.escape("call it launcher_")):
        model_text(fit_runs("heat", runs), "2026-11-24", (), StartUp(1.0, 0.5, by_tasks=True))
