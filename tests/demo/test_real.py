from __future__ import annotations

import io
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from cosched import resources
from demo import programs, real
from demo.models import HARDWARE, Workshop
from demo.programs import PROGRAMS, RealProgram
from tests.testbed.forked.nursery import QuickSite

HEAT, KMEANS = PROGRAMS[0], PROGRAMS[-1]
SMALL = replace(HEAT, sizes=(300, 450, 650), steps=(100, 400))


@pytest.mark.daemon
@pytest.mark.slow(30)
def test_programs_of_which_nobody_wrote_a_model_are_planned_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known_machine(workshop: Workshop) -> None:
        known = (resources.models() / "hardware" / "x86_64_gigabit.hmcl").read_text()
        (workshop.folder / "models" / "hardware" / f"{HARDWARE}.hmcl").write_text(
            known.replace("config x86_64_gigabit", f"config {HARDWARE}")
        )

    def quick(workshop: Workshop, programs: list[RealProgram], seconds: float = 0.0) -> None:
        watched(workshop, programs, 0.0)  # other tests disturb every run

    watched = Workshop.observe
    monkeypatch.setattr(programs, "PROGRAMS", (SMALL,))
    monkeypatch.setattr(Workshop, "measure", known_machine)
    monkeypatch.setattr(Workshop, "observe", quick)
    monkeypatch.setattr(real, "Site", QuickSite)
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    real.main("local", 3, 1.0, 5, Console(file=out, width=120))
    said = out.getvalue()
    assert "heat.c" in said
    assert "deadlines met" in said
    kept = json.loads((tmp_path / "demo-output" / "figures-real-local.json").read_text())
    assert {run["hosts"] for run in kept["runs"]} <= {1, 2}
    assert (tmp_path / "demo-output" / "gantt-real-local.svg").exists()


def test_sizes_are_drawn_between_those_that_were_watched_last() -> None:
    draws = [HEAT.drawn(random.Random(seed)) for seed in range(50)]
    assert {draw["n"] % HEAT.grain for draw in draws} == {0}
    assert all(HEAT.sizes[1] <= draw["n"] <= HEAT.sizes[2] for draw in draws)
    assert all(HEAT.steps[0] <= draw["steps"] <= HEAT.steps[1] for draw in draws)


def test_fewer_steps_stay_two_numbers() -> None:
    assert HEAT.scaled(0.0001).steps == (1, 2)
    assert HEAT.scaled(2).steps == (400, 1600)


def test_a_simulated_pool_runs_no_programs() -> None:
    with pytest.raises(SystemExit, match="choose local, condor or slurm"):
        real.main("simulated", 3, 1.0, 5, Console(file=io.StringIO()))


def test_a_program_in_python_is_started_by_the_interpreter() -> None:
    assert KMEANS.command(Path("/programs"))[0] == sys.executable
    assert HEAT.command(Path("/programs")) == ("/programs/heat",)
