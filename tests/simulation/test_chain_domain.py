from __future__ import annotations

import numpy as np
import pytest

from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.tasks import Chain, Stage, TunableTask, admit
from cosched.simulation.chain_domain import serve_chains
from cosched.simulation.experiments.milan import figure_5

# As in Figs 7 to 10 of the paper: a wide stage and a narrow one of equal area, in either order.
SHAPES = (
    Chain((Stage(8, 5.0, 10.0), Stage(4, 10.0, 30.0))),
    Chain((Stage(4, 10.0, 20.0), Stage(8, 5.0, 30.0))),
)


def test_the_core_gives_the_papers_four_jobs_what_the_paper_gives_them() -> None:
    rows = figure_5.EXPERIMENT.run(1, {"core": 1.0})
    found = {row["job"]: (row["configuration"], row["finish"]) for row in rows}
    assert found == {"J1": ("s2", 20.0), "J2": ("s1", 35.0), "J3": ("s2", 40.0), "J4": ("s2", 45.0)}
    assert {row["job"]: row["configuration"] for row in figure_5.EXPERIMENT.paper} == {
        job: configuration for job, (configuration, _) in found.items()
    }


@pytest.mark.parametrize("interval", [4.0, 10.0, 15.0])
def test_the_core_serves_as_many_jobs_as_the_arbitrator_alone_and_keeps_their_deadlines(interval: float) -> None:
    arrivals = np.cumsum(np.random.default_rng(1).exponential(interval, 60)).tolist()
    holes, expected = Holes([0.0] * 8), 0
    for arrival in arrivals:
        holes.forget(arrival)
        expected += admit(holes, TunableTask("job", arrival, SHAPES)) is not None
    served = serve_chains(arrivals, SHAPES, 8)
    assert abs(sum(each is not None for each in served) - expected) <= 1
    for arrival, found in zip(arrivals, served, strict=True):
        assert found is None or found.end <= arrival + 30.0 + 1e-6


def test_what_cannot_be_in_time_is_refused() -> None:
    first, second = serve_chains([0.0, 0.5], (Chain((Stage(2, 5.0, 6.0),)),), 2)
    assert first is not None
    assert first.spans == ((0.0, 5.0),)
    assert second is None
