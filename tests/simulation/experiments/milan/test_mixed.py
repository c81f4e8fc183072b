from __future__ import annotations

from cosched.simulation.experiments.milan.mixed import EXPERIMENT


def test_what_is_guaranteed_is_kept_beside_moldable_and_elastic_jobs() -> None:
    """Moldable tasks grew before guaranteed stages; promised hosts were taken for occupied beyond their lead's end."""
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"jobs": "40"}))
    assert [row["in_time"] for row in rows] == [1.0] * 5
    found = {str(row["system"]): row for row in rows}
    assert float(found["tunable, searched"]["all_in_time"] or 0) > float(found["tunable"]["all_in_time"] or 0)
