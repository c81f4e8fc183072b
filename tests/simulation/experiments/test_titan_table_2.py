from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.simulation.experiments.titan_table_2 import EXPERIMENT, measured_row


@pytest.mark.parametrize("tree", ["0", "1"])
def test_the_middleware_moves_tasks_and_meets_more_deadlines(tree: str) -> None:
    settings = {"requests": "500", "rate": "5", "first": "30", "generations": "1", "tree": tree, "local": "1"}
    off, calculated, local, on = EXPERIMENT.run(1, EXPERIMENT.settings(settings))
    assert [row["middleware"] for row in (off, calculated, local, on)] == ["OFF", "CALCULATED", "LOCAL", "ON"]
    work = [float(row["utilisation"] or 0) * float(row["makespan"] or 0) for row in (off, calculated)]
    assert work[1] < work[0]
    assert float(on["on_time"] or 0) > float(off["on_time"] or 0)
    assert float(on["makespan"] or 0) < float(off["makespan"] or 0)
    assert on["reduction"] == 1 - float(on["makespan"] or 0) / float(off["makespan"] or 0)
    assert off["reduction"] is None
    assert off["moved"] == calculated["moved"] == local["moved"] == off["messages"] == calculated["messages"] == 0
    assert float(on["moved"] or 0) > 0


@pytest.mark.parametrize("settings", [{"requests": "300"}, {"rate": "3"}])
def test_a_load_that_the_paper_does_not_have_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UserError, match="200, 500 and 1000 requests at 1, 2 and 5 a second"):
        EXPERIMENT.run(1, EXPERIMENT.settings(settings))


def test_the_published_tables_are_whole() -> None:
    cells = {(row["requests"], row["rate"], row["middleware"]): row for row in EXPERIMENT.paper}
    assert len(cells) == 18
    assert cells[1000, 5, "ON"]["makespan"] == 467
    assert cells[500, 2, "OFF"]["on_time"] == 0.27
    assert cells[200, 5, "ON"]["on_time"] is None


def test_the_figures_and_of_one_load_the_runs_are_drawn() -> None:
    options = EXPERIMENT.settings({"requests": "200", "rate": "5", "first": "8", "generations": "0"})
    charts = EXPERIMENT.charts(EXPERIMENT.run(1, options), 1, options)
    assert list(charts) == ["average_delay", "utilisation", "on_time", "makespan-5", "runs-OFF", "runs-ON"]
    assert "ON, paper, 200: 218" in charts["makespan-5"]
    assert "200 requests at 5 a second, middleware ON, seed 1" in charts["runs-ON"]


def test_documents_in_place_of_objects_change_nothing_but_are_counted() -> None:
    settings = {"requests": "200", "rate": "5", "first": "8", "generations": "0"}
    rows = [measured_row(200, 5, "ON", 1, EXPERIMENT.settings(settings | {"documents": given})) for given in ("0", "1")]
    assert float(rows[1].pop("bytes") or 0) > 1000.0
    assert rows[0] == rows[1]


def test_what_would_be_in_time_stays_where_the_paper_s_rule_is_kept() -> None:
    settings = {"requests": "200", "rate": "5", "first": "8", "generations": "0"}
    moved = [
        float(measured_row(200, 5, "ON", 1, EXPERIMENT.settings(settings | {"sooner": given}))["moved"] or 0)
        for given in ("1", "0.5")
    ]
    assert moved[0] < moved[1]
