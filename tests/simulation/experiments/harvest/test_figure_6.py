"""What the paper says of Fig. 6 holds, as far as docs/experiments.md says that it does."""

from __future__ import annotations

import pytest

from cosched.simulation.experiments.harvest.figure_6 import EXPERIMENT

LOADS = (0.5, 0.7, 0.9)
pytestmark = pytest.mark.xdist_group("experiment-harvest-figure-6")  # its tests share one run

Cells = dict[tuple[object, object, object], dict[str, float]]


@pytest.fixture(scope="module")
def cells() -> Cells:
    found: Cells = {}
    for row in EXPERIMENT.run(1, EXPERIMENT.settings({"draws": "2", "requests": "80"})):
        key = (row["workload"], row["load"], row["policy"])
        found[key] = {name: float(value) for name, value in row.items() if isinstance(value, float | int)}
    return found


def test_harvesting_serves_sooner_and_light_requests_gain_most(cells: Cells) -> None:
    for load in LOADS:
        saved = {name: cells[name, load, "srt-harvest"]["against_moldable"] for name in ("light", "uniform", "heavy")}
        assert saved["light"] == min(saved.values())
        assert all(change <= -0.05 for change in saved.values())
        assert all(cells[name, load, "srt-harvest"]["against_ideal"] < 0 for name in saved)


def test_the_light_workload_gains_at_least_the_forty_per_cent_of_the_paper(cells: Cells) -> None:
    (paper,) = (row["against_moldable"] for row in EXPERIMENT.paper if row["workload"] == "light")
    assert min(cells["light", load, "srt-harvest"]["against_moldable"] for load in LOADS) <= float(paper or 0.0)


def test_ideal_waits_longest_and_runs_shortest(cells: Cells) -> None:
    for name in ("light", "uniform", "heavy"):
        for load in LOADS:
            ideal = cells[name, load, "ideal"]
            for other in ("moldable-now", "srt-harvest"):
                assert ideal["wait"] > cells[name, load, other]["wait"]
            for other in ("moldable-now", "srt-harvest", "ib-harvest"):
                assert ideal["run"] <= cells[name, load, other]["run"]


def test_harvesting_waits_less_than_moldable_where_requests_are_light(cells: Cells) -> None:
    for load in LOADS:
        for name in ("light", "uniform"):
            assert cells[name, load, "srt-harvest"]["wait"] < cells[name, load, "moldable-now"]["wait"]
    for load in (0.5, 0.7):
        assert cells["light", load, "ib-harvest"]["wait"] < cells["light", load, "moldable-now"]["wait"]


def test_policies_without_harvesting_change_nothing_that_runs(cells: Cells) -> None:
    for (_, _, policy), row in cells.items():
        assert (row["resizes"] == 0) == (policy in ("ideal", "moldable-now"))
