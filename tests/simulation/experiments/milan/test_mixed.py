from __future__ import annotations

from cosched.simulation.experiments.milan.mixed import EXPERIMENT


def test_what_is_guaranteed_is_kept_beside_moldable_and_elastic_jobs() -> None:
    """A core that forgets what is guaranteed has one in ten late."""
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"jobs": "40"}))
    assert [row["in_time"] for row in rows] == [1.0] * 5
    found = {str(row["system"]): row for row in rows}
    assert float(found["tunable, searched"]["all_in_time"] or 0) > float(found["tunable"]["all_in_time"] or 0)
