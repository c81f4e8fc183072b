from __future__ import annotations

import pytest

from cosched.cli.plan.text import summarise

FIGURES = {
    "policy": "edf",
    "makespan": 60.0,
    "lower_bound": 50.0,
    "gap": 0.2,
    "optimal": False,
    "idle": 0.1,
    "on_time": None,
    "average_delay": None,
    "evaluations": 1,
    "generations": 0,
    "elapsed": 0.5,
}


def test_the_bound_the_gap_and_the_work_are_always_told(capsys: pytest.CaptureFixture[str]) -> None:
    summarise(FIGURES)
    assert capsys.readouterr().out == (
        "\nmakespan 60 s, lower bound 50 s, gap 20.00%, idle 10.0%\nedf: 1 plan compared in 0.5 s\n"
    )


def test_what_is_proved_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    summarise({**FIGURES, "makespan": 50.0, "gap": 0.0, "optimal": True})
    assert "gap 0.00% (optimal), idle" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("on_time", "delay", "said"),
    [
        (0.5, 3.0, "on time 50.0%, on average 3 s before the deadline"),
        (0.5, -3.0, "on time 50.0%, on average 3 s after the deadline"),
        (0.0, None, "on time 0.0%"),
    ],
)
def test_deadlines(on_time: float, delay: float | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    summarise({**FIGURES, "on_time": on_time, "average_delay": delay})
    assert said in capsys.readouterr().out.splitlines()


def test_a_search_tells_its_rate(capsys: pytest.CaptureFixture[str]) -> None:
    summarise({**FIGURES, "evaluations": 4005, "generations": 100})
    assert "edf: 4005 plans compared in 0.5 s, 200 generations a second" in capsys.readouterr().out
