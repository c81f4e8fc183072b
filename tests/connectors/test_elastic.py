"""Elastic tasks on real managers give hosts to a task that comes, get them back and end."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.testbed.elastic_stories import PLACES_NODE, PLACES_SETTINGS, STORIES, STORY_SETTINGS, places_story
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.testbed.elastic_stories import Ask


_CONNECTORS = pytest.mark.parametrize(
    "connector",
    [
        pytest.param("local", marks=pytest.mark.daemon),
        pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
        pytest.param("slurm", marks=[pytest.mark.pool, pytest.mark.xdist_group("slurm-sites")]),
    ],
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("kind", list(STORIES))
@_CONNECTORS
def test_an_elastic_task_gives_hosts_gets_them_back_and_ends(connector: str, kind: str) -> None:
    with a_site(connector, hosts=4, settings=STORY_SETTINGS) as (site, ask):
        STORIES[kind](site, ask)


@_CONNECTORS
def test_an_elastic_task_gives_parts_of_shared_hosts_gets_them_back_and_ends(connector: str) -> None:
    settings = {key: value for key, value in PLACES_SETTINGS.items() if connector == "local" or "." not in key}
    with a_site(connector, hosts=2, settings=settings, node=PLACES_NODE) as (site, ask):
        places_story(site, ask)


@contextmanager
def a_site(connector: str, **options: Any) -> Iterator[tuple[QuickSite, Ask]]:
    """Give a site of a connector, and what asks its daemon; skip the test where the manager cannot be had."""
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=1.0, **options))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client = stack.enter_context(site.client())
        yield site, lambda question: question(client)
