"""Elastic tasks on real managers give hosts to a task that comes, get them back and end."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.testbed.debian import PackageError
from tests.testbed.elastic_stories import STORIES, STORY_SETTINGS
from tests.testbed.nursery import QuickSite


@pytest.mark.parametrize("kind", list(STORIES))
@pytest.mark.parametrize(
    "connector",
    [
        pytest.param("local", marks=pytest.mark.daemon),
        pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
        pytest.param("slurm", marks=[pytest.mark.pool, pytest.mark.xdist_group("slurm-sites")]),
    ],
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_an_elastic_task_gives_hosts_gets_them_back_and_ends(connector: str, kind: str) -> None:
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=1.0, hosts=4, settings=STORY_SETTINGS))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client = stack.enter_context(site.client())
        STORIES[kind](site, lambda question: question(client))
