from __future__ import annotations

from dataclasses import replace

from cosched.simulation.experiments import experiment
from cosched.simulation.seeds import tables


def test_processes_give_the_rows_that_one_gives_in_the_order_of_the_seeds() -> None:
    chosen = experiment("milan-figures-7-10")
    options = chosen.settings({"jobs": "20"})
    alone = tables(chosen, (3, 1), options, 1)
    assert tables(chosen, (3, 1), options, 2) == alone
    assert alone[0] != alone[1]


def test_what_has_no_name_runs_here() -> None:
    chosen = replace(experiment("milan-figure-5"), name="trace", run=lambda seed, _options: [{"seed": seed}])
    assert tables(chosen, (1, 2), {}, 2) == [[{"seed": 1}], [{"seed": 2}]]
