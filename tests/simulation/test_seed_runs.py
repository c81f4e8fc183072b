from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.scheduling.formats.swf import parse_swf
from cosched.simulation.experiments import load_experiment
from cosched.simulation.seed_runs import tables_by_seed
from tests.simulation.traces import swf


@pytest.mark.daemon
def test_processes_give_the_rows_that_one_gives_in_the_order_of_the_seeds() -> None:
    chosen = load_experiment("milan-figures-7-10")
    options = chosen.settings({"jobs": "20"})
    alone = tables_by_seed(chosen, (3, 1), options, 1)
    assert tables_by_seed(chosen, (3, 1), options, 2) == alone
    assert alone[0] != alone[1]


def test_what_has_no_name_runs_here() -> None:
    chosen = replace(load_experiment("milan-figure-5"), name="trace", run=lambda seed, _options: [{"seed": seed}])
    assert tables_by_seed(chosen, (1, 2), {}, 2) == [[{"seed": 1}], [{"seed": 2}]]


def test_an_experiment_on_a_trace_has_it_whatever_its_name() -> None:
    on_trace = load_experiment("malleable-replay").for_trace
    assert on_trace is not None
    chosen = on_trace(parse_swf(swf(4)), "drawn.swf")
    tables = tables_by_seed(chosen, (1, 2), chosen.settings({}), 2)
    assert [len(rows) for rows in tables] == [36, 36]
