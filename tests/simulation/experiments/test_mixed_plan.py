from __future__ import annotations

import numpy as np
import pytest

from cosched.simulation.experiments import load_experiment
from cosched.simulation.experiments.mixed_plan import MixedQueue, mixed_queue


def test_who_is_elastic_at_some_share_is_so_at_every_larger_one() -> None:
    some, more = (mixed_queue(MixedQueue(tasks=60, share=share), 1) for share in (0.3, 0.7))
    assert some.elastic is not None
    assert more.elastic is not None
    assert set(some.elastic) < set(more.elastic)
    assert len(some.elastic) == pytest.approx(18, abs=10)
    rest = [task for task in range(60) if task not in more.elastic]
    assert [some.tasks[task] for task in rest] == [more.tasks[task] for task in rest]
    assert np.array_equal(some.seconds[0, rest], more.seconds[0, rest])
    assert np.array_equal(some.deadline[rest], more.deadline[rest])


def test_each_kind_of_task_runs_where_it_can() -> None:
    problem = mixed_queue(MixedQueue(tasks=60), 2)
    ways = {
        name.split("-")[0]: set(np.flatnonzero(np.isfinite(row)) + 1)
        for name, row in zip(problem.tasks, problem.seconds[0], strict=True)
    }
    assert len(ways["rigid"]) == 1
    assert ways["tunable"] == {2, 8}
    assert ways["moldable"] == ways["elastic"] == set(range(1, 17))
    shortest = problem.seconds[0].min(axis=1)
    assert (problem.deadline >= shortest).all()  # each could meet its own alone
    assert mixed_queue(MixedQueue(share=0.0), 2).elastic is None


def test_elastic_tasks_are_worth_more_the_cheaper_their_changes_are() -> None:
    experiment = load_experiment("mixed-plan")
    options = experiment.settings({"tasks": "12", "generations": "30"})
    rows = experiment.run(1, options)
    assert [(row["share"], row["cost"]) for row in rows[:3]] == [(0.0, 0.0), (0.33, 0.0), (0.33, 5.0)]
    assert len(rows) == 1 + 3 * 4
    found = {(row["share"], row["cost"]): row for row in rows}
    assert found[0.0, 0.0]["change"] == found[0.0, 0.0]["resizes"] == 0.0
    for row in rows:
        assert float(row["lent_afterwards"] or 0) <= float(row["as_moldable"] or 0) * (1 + 1e-9)
    assert float(found[1.0, 0.0]["change"] or 0) < -0.05
    assert float(found[1.0, 60.0]["resizes"] or 0) < float(found[1.0, 0.0]["resizes"] or 0)
    assert set(experiment.charts(rows, 1, options)) == {"change"}
