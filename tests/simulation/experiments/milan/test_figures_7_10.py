from __future__ import annotations

from cosched.simulation.experiments.milan.figures_7_10 import EXPERIMENT


def test_the_shapes_of_the_papers_curves() -> None:
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"jobs": "300"}))
    found = {(row["figure"], row["value"], row["system"]): float(row["throughput"] or 0.0) for row in rows}

    def gain(figure: str, value: float, over: str) -> float:
        return found[figure, value, "tunable"] - found[figure, value, over]

    # Fig. 7: little to gain where the system drowns in work, more in the middle.
    assert gain("7", 10.0, "shape 1") > 2 * gain("7", 1.0, "shape 1") > 0
    # Fig. 8: loose deadlines let shape 2 pack as well as a choice does, but never shape 1.
    assert gain("8", 0.95, "shape 2") < 0.02 < gain("8", 0.4, "shape 2")
    assert gain("8", 0.95, "shape 1") > 0.2
    # Fig. 10: at an alpha of 1 both shapes are the same.
    assert gain("10", 1.0, "shape 1") == gain("10", 1.0, "shape 2") == 0


def test_utilisation_is_what_the_admitted_jobs_take() -> None:
    (row, *_) = EXPERIMENT.run(1, EXPERIMENT.settings({"jobs": "1"}))
    assert row["throughput"] == 1.0
    assert 0 < float(row["utilisation"] or 0.0) <= 80 / (8 * 15)
