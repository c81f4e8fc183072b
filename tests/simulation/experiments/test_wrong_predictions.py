from __future__ import annotations

from cosched.simulation.experiments.wrong_predictions import EXPERIMENT


def test_robust_planning_is_plain_planning_where_predictions_are_exact() -> None:
    rows = EXPERIMENT.run(2, EXPERIMENT.settings({"tasks": "3", "generations": "1"}))
    found = {(row["error"], row["policy"]): (row["makespan"], row["on_time"]) for row in rows}
    assert found[0.0, "genetic"] == found[0.0, "genetic, robust"]
    assert {error for error, _ in found} == {0.0, 0.05, 0.12, 0.3}
    assert len(found) == 4 * 18


def test_under_one_policy_the_order_of_arrival_alone_decides_and_errors_move_the_makespan() -> None:
    rows = EXPERIMENT.run(2, EXPERIMENT.settings({"tasks": "4", "generations": "0"}))
    strict = [row["makespan"] for row in rows if row["policy"] == "fcfs-maximum"]
    assert len(set(strict)) == 4
