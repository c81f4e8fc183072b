from __future__ import annotations

from cosched.simulation.experiments.amm_figures import EXPERIMENT


def test_a_sweep_with_never_is_at_least_as_good_as_min_min_whatever_the_machines() -> None:
    for unrelated in ("1", "20"):
        rows = EXPERIMENT.run(3, EXPERIMENT.settings({"unrelated": unrelated, "largest": "20"}))
        adaptive = [
            float(row["ratio"] or 0.0)
            for row in rows
            if row["mapping"] in ("a-mm", "a-mm-execution") and row["threshold"] == "best"
        ]
        assert len(adaptive) == 2 * (2 + 3 + 4)
        assert max(adaptive) <= 1.0


def test_every_threshold_of_the_paper_is_swept_and_never() -> None:
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"largest": "5"}))
    swept = [row["threshold"] for row in rows if row["figure"] == "thresholds" and row["mapping"] == "a-mm"]
    assert swept == [f"{step / 20:.2f}" for step in range(2, 21)] + ["never"]


def test_the_sweep_as_printed_can_lose_to_min_min() -> None:
    """Without "never" nothing keeps it from turning where turning is wrong: on machines that suit tasks differently."""
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"unrelated": "100"}))
    assert any(row["mapping"] == "a-mm as printed" and float(row["ratio"] or 0.0) > 1.0 for row in rows)


def test_a_figure_whose_sizes_are_all_left_out_is_not_drawn_empty() -> None:
    options = EXPERIMENT.settings({"largest": "10"})
    assert set(EXPERIMENT.charts(EXPERIMENT.run(1, options), 1, options)) == {"figure-5", "figure-7"}
