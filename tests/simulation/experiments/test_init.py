"""What every experiment keeps to."""

from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.swf import parse_swf
from cosched.simulation.experiments import EXPERIMENT_NAMES, load_experiment
from tests.simulation.traces import swf

# Small enough for a test, by experiment.
TINY: dict[str, dict[str, str]] = {
    "titan-table-1": {"tasks": "6", "generations": "2"},
    "amm-figures": {"largest": "15"},
    "milan-figure-5": {},
    "milan-figures-7-10": {"jobs": "20"},
    "milan-mixed": {"jobs": "8", "generations": "2"},
    "wrong-predictions": {"tasks": "2", "generations": "1"},
    "titan-table-2": {"requests": "200", "rate": "5", "first": "4", "generations": "0"},
    "grid-policies": {"first": "4", "error": "0.1", "generations": "0"},
    "grid-faults": {"first": "1", "rate": "100", "generations": "0", "documents": "0"},
    "shares": {"hosts": "2", "hours": "1", "generations": "0"},
    "contention": {"tasks": "12", "nodes": "1", "generations": "0"},
    "harvest-figure-4": {"services": "1", "requests": "15"},
    "harvest-figure-6": {"draws": "1", "requests": "10"},
    "harvest-figures-7-9": {"draws": "1", "requests": "5"},
    "satin-figure-2": {"orders": "2", "series": "1"},
    "malleable-replay": {},
    "ghs-completion": {"runs": "100"},
    "ghs-trigger": {"tasks": "2", "hosts": "2", "generations": "0"},
    "mixed-plan": {"tasks": "6", "hosts": "8", "generations": "2"},
    "grid-scale": {"largest": "10", "hosts": "4", "requests": "1", "span": "1"},
}


@pytest.mark.parametrize("name", EXPERIMENT_NAMES)
def test_a_tiny_run_is_the_same_from_the_same_seed_and_has_the_columns_of_keys_and_paper(name: str) -> None:
    chosen = load_experiment(name)
    if chosen.for_trace is not None:
        chosen = chosen.for_trace(parse_swf(swf(12)), "drawn.swf")
    assert chosen.name == name
    options = chosen.settings(TINY[name])
    rows, again = chosen.run(7, options), chosen.run(7, options)
    for one in (*rows, *again):
        assert set(chosen.machine) <= set(one)
        one.update(dict.fromkeys(chosen.machine))
    assert rows == again
    labels = [tuple(row[key] for key in chosen.keys) for row in rows]
    assert len(set(labels)) == len(rows) > 0
    assert all(list(row) == list(rows[0]) for row in rows)
    assert all(set(published) <= set(rows[0]) for published in chosen.paper)
    drawn = chosen.charts(rows, 7, options)
    assert len(drawn) >= chosen.pictures
    assert bool(drawn) == bool(chosen.pictures)


def test_an_unknown_one_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UserError, match="no experiment is called 'titan': there are titan-table-1"):
        load_experiment("titan")
