from __future__ import annotations

from cosched.simulation.experiments.grid_faults import EXPERIMENT

SETTINGS = {"requests": "500", "rate": "5", "first": "4", "generations": "0", "documents": "0"}


def test_whatever_goes_wrong_every_request_runs_to_its_end_once() -> None:
    rows = {row["trouble"]: row for row in EXPERIMENT.run(1, EXPERIMENT.settings(SETTINGS))}
    assert len(rows) == 8
    assert {row["repeated"] for row in rows.values()} == {0}
    for name in ("four domains leave", "all of it"):
        assert float(rows[name]["average_delay"] or 0) < float(rows["none"]["average_delay"] or 0)
    assert float(rows["stale advertisements"]["messages"] or 0) < float(rows["none"]["messages"] or 0)
