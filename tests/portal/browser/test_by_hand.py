"""Everyday tasks meet their times: the person's by the keystroke-level model, the pages' as measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.portal.browser.by_hand import ERRANDS, Errand, occupy, run_errand
from tests.portal.browser.visitor import BEFORE_A_SITE, visiting
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from demo.site import Site

pytestmark = BEFORE_A_SITE


@pytest.fixture(scope="module")
def busy() -> Iterator[Site]:
    with QuickSite("local", scale=0.05) as site, site.client() as client:
        occupy(client, 40)
        yield site


@pytest.mark.parametrize("errand", ERRANDS, ids=lambda errand: errand.name)
def test_an_errand_takes_no_longer_than_it_may(browser: Browser, busy: Site, errand: Errand) -> None:
    with visiting(browser, busy) as visitor, busy.client() as client:
        effort = run_errand(errand, visitor.go("/tasks"), client, waits=False)
        # The pages' own seconds are those of the machine: `python -m benchmarks.tasks_by_hand` measures them.
        assert effort.pauses <= errand.most, effort
        assert effort.clicks >= 3
        assert visitor.complaints == []
