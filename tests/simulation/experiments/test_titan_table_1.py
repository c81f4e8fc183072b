from __future__ import annotations

from cosched.simulation.experiments.titan_table_1 import EXPERIMENT


def test_the_papers_order_of_the_policies_comes_out() -> None:
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"generations": "20"}))
    makespan = {str(row["policy"]): float(row["makespan"] or 0.0) for row in rows}
    assert makespan["genetic"] < makespan["fcfs-calculated"] < makespan["fcfs-arbitrary"]
    assert makespan["fcfs-calculated"] < makespan["fcfs-maximum"]


def test_wrong_predictions_change_what_is_realised() -> None:
    exact, wrong = (
        EXPERIMENT.run(1, EXPERIMENT.settings({"tasks": "5", "generations": "1", "noise": noise}))
        for noise in ("0", "0.5")
    )
    assert all(one["makespan"] != other["makespan"] for one, other in zip(exact, wrong, strict=True))
