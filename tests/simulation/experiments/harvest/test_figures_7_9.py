"""The shapes of the curves are those of which the paper speaks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cosched.simulation.experiments.harvest.figures_7_9 import EXPERIMENT

pytestmark = pytest.mark.xdist_group("experiment-harvest-figures-7-9")  # its tests share one run

Curves = dict[tuple[object, object], dict[float, dict[str, float]]]


@pytest.fixture(scope="module")
def curves() -> Curves:
    found: Curves = {}
    for row in EXPERIMENT.run(1, EXPERIMENT.settings({"draws": "3", "requests": "60"})):
        times = {name: float(row[name] or 0.0) for name in ("wait", "run", "service")}
        found.setdefault((row["figure"], row["workload"]), {})[float(row["value"] or 0.0)] = times
    return found


@pytest.mark.parametrize("workload", ["light", "uniform", "heavy"])
def test_requests_wait_longer_the_less_is_harvested(curves: Curves, workload: str) -> None:
    curve = curves["7", workload]
    waits = [curve[value]["wait"] for value in (1.8, 4.0, 8.0)]
    assert waits == sorted(waits)
    assert waits[-1] > 1.02 * waits[0]


@pytest.mark.parametrize("workload", ["light", "uniform", "heavy"])
def test_more_patience_serves_sooner(curves: Curves, workload: str) -> None:
    services = [times["service"] for _, times in sorted(curves["8", workload].items())]
    assert services[0] > 1.1 * services[-1]
    assert all(later <= 1.01 * sooner for sooner, later in pairwise(services))


@pytest.mark.parametrize("workload", ["light", "uniform", "heavy"])
def test_more_impact_lets_requests_wait_less_and_run_longer_and_is_best_in_the_middle(
    curves: Curves, workload: str
) -> None:
    curve = curves["9", workload]
    assert curve[4.0]["wait"] < 0.5 * curve[1.05]["wait"]
    runs = [times["run"] for _, times in sorted(curve.items())]
    assert runs == sorted(runs)
    best = min(times["service"] for times in curve.values())
    assert best < min(curve[1.05]["service"], curve[4.0]["service"])


def test_charts_show_waits_and_service_times_of_each_figure() -> None:
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"draws": "1", "requests": "5"}))
    charts = EXPERIMENT.charts(rows, 1, EXPERIMENT.settings({}))
    assert set(charts) == {f"figure-{figure}-{measure}" for figure in "789" for measure in ("wait", "service")}
