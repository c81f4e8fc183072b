"""Pages that are renewed while somebody looks at them, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from tests.portal.browser.visitor import BEFORE_A_SITE, Visitor, renewal, visiting
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from demo.site import Site

pytestmark = BEFORE_A_SITE


def test_what_is_selected_opened_and_focused_stays_so_as_a_part_is_renewed(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/tasks/3")
    page.wait_for_selector("pre >> text=working on 0")
    page.click("summary:has-text('err.0')")  # it was open
    page.focus("pre[aria-label='out.0']")
    page.evaluate("getSelection().selectAllChildren(document.querySelector(\"pre[aria-label='out.0']\"))")
    read = page.query_selector_all("[data-live=head] dt, [data-live=head] dd, pre")  # where a screen reader may be
    with renewal(page, "head"), busy.client() as client:
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
    assert len(read) > 5
    assert [each for each in read if not each.evaluate("each => each.isConnected")] == []
    assert page.evaluate("getSelection().toString()").strip() == "working on 0"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "out.0"
    assert page.locator("details#output-err\\.0").get_attribute("open") is None


def test_a_list_changes_while_it_is_looked_at(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/tasks")
    with busy.client() as client:
        new = client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99}, name="just arrived"))
        page.wait_for_selector("td, th >> text=just arrived")
        client.cancel(new.id)
        page.wait_for_selector(f"tr:has(a[href='/tasks/{new.id}']) .pill.cancelled")


def test_a_tab_that_nobody_looks_at_gives_its_connection_back(visitor: Visitor) -> None:
    page = visitor.go("/tasks")
    seen = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    page.evaluate(seen % "true" + "document.dispatchEvent(new Event('visibilitychange')); 0")
    page.wait_for_selector(".live:not(.on)")
    page.evaluate(seen % "false" + "document.dispatchEvent(new Event('visibilitychange')); 0")
    page.wait_for_selector(".live.on")


def test_a_page_follows_again_after_an_answer_that_is_no_stream(browser: Browser, busy: Site) -> None:
    """A proxy says so while cosched is started again: pages said ever after that the connection was lost."""
    with visiting(browser, busy) as visitor:
        page = visitor.page
        page.route("**/api/v1/events", lambda route: route.fulfill(status=502, body="nobody there"))
        page.goto(visitor.address + "/tasks")
        page.wait_for_selector(".lost:visible")
        page.unroute_all()
        page.wait_for_selector(".live.on")
        assert page.locator(".lost:visible").count() == 0


def test_what_is_shown_without_a_connection_is_called_old(browser: Browser) -> None:
    with QuickSite("local", scale=0.05) as site, visiting(browser, site) as visitor:
        page = visitor.go("/submit?application=jacobi")
        page.wait_for_selector(".live.on")
        page.wait_for_selector("[data-foreseen]:not(.stale) .verdict")
        site.stop()
        page.fill("[name='p.Scale']", "3")
        page.wait_for_selector(".lost:has-text('The connection to cosched is lost. What you see is of')")
        assert page.locator("[data-foreseen].stale").count() == 1
        assert visitor.faults() == []


def test_a_list_is_sorted_by_a_heading_and_stays_so_as_it_is_renewed(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/tasks?search=long")
    page.click("th a:text-is('Task')")
    page.wait_for_selector("th[aria-sort=ascending]")
    names = page.locator("tbody th bdi").all_inner_texts()
    assert names == sorted(names)
    with busy.client() as client:
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99}, name="long ago")).id)
        page.wait_for_selector("td, th >> text=long ago")
    assert page.locator("tbody th bdi").all_inner_texts() == sorted([*names, "long ago"])
    page.click("th a:text-is('Task')")
    page.wait_for_selector("th[aria-sort=descending]")
    assert visitor.faults() == []
