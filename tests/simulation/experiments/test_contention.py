from __future__ import annotations

from cosched.simulation.experiments.contention import EXPERIMENT


def figures(slowdown: str) -> dict[tuple[object, object], dict[str, float]]:
    """Return the figures of a run without a search, by way and part of the runs."""
    options = EXPERIMENT.settings({"tasks": "120", "nodes": "2", "generations": "0", "slowdown": slowdown})
    rows = EXPERIMENT.run(1, options)
    return {(row["way"], row["runs"]): {name: float(row[name] or 0) for name in ("error", "makespan")} for row in rows}


def test_what_others_cost_is_learnt_and_what_is_stated_is_right_from_the_first_run() -> None:
    found = figures("1.0")
    learnt = [found["learnt", part]["error"] for part in ("first half", "second half")]
    stated = [found["stated, then learnt", part]["error"] for part in ("first half", "second half")]
    assert learnt[1] < learnt[0]
    assert stated[1] < stated[0]
    assert max(learnt[1], stated[1]) < 0.05


def test_where_nobody_slows_anybody_all_ways_are_one() -> None:
    found = figures("0")
    assert max(each["error"] for each in found.values()) < 1e-9
    assert len({each["makespan"] for each in found.values()}) == 1
