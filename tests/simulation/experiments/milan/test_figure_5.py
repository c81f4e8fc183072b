from __future__ import annotations

from cosched.simulation.experiments.milan.figure_5 import EXPERIMENT


def test_every_job_gets_the_configuration_that_the_paper_gives_it() -> None:
    rows = EXPERIMENT.run(1, {})
    for ours, published in zip(rows, EXPERIMENT.paper, strict=True):
        assert published.items() <= ours.items()


def test_the_holes_are_the_papers_triples() -> None:
    assert EXPERIMENT.run(1, {})[0]["holes"] == "(0,15,5) (0,inf,1) (20,inf,8)"
