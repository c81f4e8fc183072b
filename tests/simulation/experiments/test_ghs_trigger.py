from __future__ import annotations

from cosched.simulation.experiments.ghs_trigger import EXPERIMENT


def test_every_way_runs_all_tasks_under_both_policies() -> None:
    found = EXPERIMENT.run(4, EXPERIMENT.settings({"tasks": "4", "hosts": "2", "generations": "0"}))
    assert [(row["policy"], row["load"]) for row in found] == [
        (policy, way) for policy in ("genetic", "a-mm") for way in ("not known", "mean", "quantile 0.8", "with trigger")
    ]
    assert all(float(row["makespan"] or 0) > 0 and 0 <= float(row["on_time"] or 0) <= 1 for row in found)
    unknown, known = found[0], found[1]
    assert unknown != {**known, "load": unknown["load"]}  # what two days foretell places tasks elsewhere
