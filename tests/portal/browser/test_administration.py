"""What administrators do and see on the pages, in a real browser."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.portal.browser.visitor import BEFORE_A_SITE, Visitor, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from demo.site import Site

pytestmark = BEFORE_A_SITE


def test_what_is_used_is_told_by_user_with_what_is_planned(visitor: Visitor) -> None:
    page = visitor.go("/utilisation")
    page.click("nav.tabs a:text-is('by user')")
    page.wait_for_url("**by=user**")
    assert "by user: " in (page.locator("figure .use").get_attribute("aria-label") or "")
    shares = page.locator("tbody tr:has-text('together') td").all_inner_texts()
    _, now, planned = (float(share.removesuffix(" %")) for share in shares)
    assert now > 10
    assert planned > 0
    page.click("nav.tabs a:text-is('1h')")
    page.wait_for_selector("nav.tabs a[aria-current]:text-is('1h')")
    assert page.locator("nav.tabs a[aria-current]:text-is('by user')").count() == 1


def test_an_administrator_keeps_tasks_off_a_host(visitor: Visitor) -> None:
    page = visitor.go("/domain")
    page.click("li:has(b:text-is('host12')) a:text-is('keep tasks off')")
    page.wait_for_url("**/administration?host=host12")
    page.fill("[name=name] >> nth=0", "new memory")
    page.click("button:text-is('Reserve')")
    page.wait_for_selector("td:text-is('host12')")
    assert visitor.faults() == []
    visitor.go("/schedule").wait_for_selector("path.kept")
    visitor.go("/administration").click("button:text-is('Release')")
    page.wait_for_selector("text=No host is reserved")


def test_all_that_was_chosen_is_there_again_where_a_form_is_refused(visitor: Visitor) -> None:
    """Of several hosts the first alone was, and of a token's scopes the usual ones: the next try asked for those."""
    page = visitor.go("/administration")
    page.select_option("#host", ["host03", "host04", "host05"])
    page.fill("[name=end] >> nth=0", "2020-01-01T00:00")
    page.click("button:text-is('Reserve')")
    page.wait_for_url("**refused=**")
    chosen = "[...document.querySelectorAll('#host option:checked')].map(each => each.value)"
    assert page.evaluate(chosen) == ["host03", "host04", "host05"]
    page = visitor.go("/account")
    page.uncheck("#scope-submit")
    page.check("#scope-metrics")
    page.fill("[name=days]", "36500")
    page.evaluate("document.querySelector('[name=days]').form.noValidate = true")
    page.click("form:has([name=days]) button:not([name])")
    page.wait_for_url("**refused=**")
    ticked = "[...document.querySelectorAll('[name=scope]:checked')].map(each => each.value)"
    assert page.evaluate(ticked) == ["read", "metrics"]


def test_an_administrator_tells_everybody_something(visitor: Visitor, browser: Browser, busy: Site) -> None:
    with visiting(browser, busy) as other:
        page = other.go("/tasks")
        visitor.go("/administration/notices").fill("[name=text]", "No power on Friday")
        visitor.page.click("button:text-is('Show it on all pages')")
        visitor.page.wait_for_selector("th:text-is('No power on Friday')")
        page.wait_for_selector(".banner.notice:has-text('No power on Friday')")  # nobody reloads it
        assert other.faults() == visitor.faults() == []
        visitor.page.click("button:text-is('Remove')")
        visitor.page.wait_for_selector("text=No notice is shown")
        page.wait_for_selector(".banner.notice", state="detached")
        assert other.complaints == []


def test_health_tells_of_a_search_that_died(visitor: Visitor) -> None:
    page = visitor.go("/administration/health")
    page.wait_for_selector(".lead:has-text('All works')")
    search = page.locator("tr:has-text('search for better plans') td >> nth=0").inner_text()
    os.kill(int(search), signal.SIGKILL)
    page.wait_for_selector(".checks li:has-text('It has died 1 times') .advice:has-text('killed for its memory')")
    assert visitor.faults() == []
