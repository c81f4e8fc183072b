"""The first steps of a new user on the pages, in a real browser, before an empty system."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from tests.portal.browser.visitor import BEFORE_A_SITE, PHONE, visiting
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from demo.site import Site

pytestmark = BEFORE_A_SITE


@pytest.fixture(scope="module")
def empty(browser: Browser) -> Iterator[Site]:
    with QuickSite("local", scale=0.05) as site:
        yield site


def test_an_empty_system_explains_itself_and_runs_a_sample(browser: Browser, empty: Site) -> None:
    with visiting(browser, empty) as visitor:
        page = visitor.go("/")
        assert "Nothing has been submitted yet" in page.inner_text("h1")
        assert visitor.faults() == []
        page.click("text=Run a sample task")
        page.wait_for_url("**/tasks/1")
        page.wait_for_selector("h1 .pill.completed", timeout=120_000)  # the page follows: nobody reloads it
        assert "to spare" in page.inner_text(".stats")
        assert visitor.complaints == []


def test_a_new_user_submits_with_a_deadline_and_sees_it_end(browser: Browser, empty: Site) -> None:
    with visiting(browser, empty) as visitor:
        page = visitor.go("/submit")
        page.click(".card:has-text('jacobi')")
        page.click("text=+10 min")
        page.wait_for_selector(".verdict.good")
        assert "before its deadline" in page.inner_text(".verdict")
        assert page.locator("[data-foreseen] svg.plot .label").first.text_content() == "predicted"
        page.click("button:text-is('Submit')")
        page.wait_for_url(re.compile(r".*/tasks/\d+"))
        page.wait_for_selector("h1 .pill.completed", timeout=120_000)
        assert visitor.complaints == []


def test_a_deadline_so_far_ahead_is_so_by_the_servers_clock(browser: Browser, empty: Site) -> None:
    """On a machine whose clock is an hour slow +4 h was a deadline in three."""
    with visiting(browser, empty) as visitor:
        visitor.page.add_init_script("const right = Date.now.bind(Date); Date.now = () => right() - 3600000;")
        page = visitor.go("/submit?application=jacobi")
        page.click("text=+4 h")
        given = datetime.fromisoformat(page.input_value("[name=deadline]")).replace(tzinfo=ZoneInfo("Europe/Berlin"))
        assert abs(given.timestamp() - time.time() - 4 * 3600) < 60


def test_on_a_phone_the_verdict_stands_above_the_button_and_moves_nothing(browser: Browser, empty: Site) -> None:
    """It lay below the button: one pressed Submit before one could have read it."""
    with visiting(browser, empty, viewport=PHONE, has_touch=True, is_mobile=True) as visitor:
        page = visitor.go("/submit?application=jacobi")
        page.wait_for_selector(".near:not(.stale) .verdict")
        button = page.locator("button.primary")
        before = button.bounding_box()
        page.fill("[name='p.Scale']", "2")
        page.wait_for_selector(".near.stale")
        page.wait_for_selector(".near:not(.stale) .verdict")
        verdict, after = page.locator(".near .verdict").bounding_box(), button.bounding_box()
        assert verdict is not None
        assert before is not None
        assert after == before
        assert verdict["y"] + verdict["height"] <= after["y"]
        assert after["height"] >= 44
        assert not page.locator(".foreseen .verdict").is_visible()
        assert visitor.faults() == []


def test_a_deadline_that_cannot_be_met_is_refused_with_one_that_can(browser: Browser, empty: Site) -> None:
    with visiting(browser, empty) as visitor:
        page = visitor.go("/submit?application=jacobi")
        page.fill("[name='p.Scale']", "100")
        page.click("text=+1 min")
        page.wait_for_selector(".verdict.bad")
        assert "would be refused" in page.inner_text(".verdict")
        page.click("button:text-is('Submit')")
        page.wait_for_selector("main > .banner.bad")
        assert "the earliest deadline that can be met is" in page.inner_text("main > .banner.bad")
        assert page.input_value("[name='p.Scale']") == "100"
        page.click("text=Take it")
        page.wait_for_selector(".verdict.good")
        # A refusal is a 422, which browsers put into the console.
        assert all("422" in complaint for complaint in visitor.complaints)
