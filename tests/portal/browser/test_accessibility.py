"""Every page in a real browser: by axe, in the dark, with forced colours, on a phone, with the keyboard alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.portal.browser.visitor import BEFORE_A_SITE, PHONE, Visitor, tab_to, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from demo.site import Site

pytestmark = BEFORE_A_SITE


PAGES = (
    "/tasks",
    "/tasks/1",
    "/submit",
    "/submit?application=jacobi",
    "/submit?own=command",
    "/submit?own=file",
    "/schedule",
    "/deadlines",
    "/accuracy",
    "/domain",
    "/utilisation?by=user&span=6h",
    "/models",
    "/models/applications/jacobi_measured",
    "/account",
    "/docs",
    "/administration",
    "/administration/health",
    "/administration/configuration",
    "/administration/notices",
    "/nowhere",
)

DRAWN_ALIKE = {  # each by one line of a template
    "/docs": "article.panel:nth-of-type(n + 21), .contents li li:nth-child(n + 9)",
    "/administration/configuration": ".settings tr:nth-child(n + 4):has(td code):not(:has(bdi))",
}

MORE = (
    "/",
    "/tasks?state=completed",
    "/tasks/2",
    "/tasks/3",
    "/schedule?span=1h",
    "/schedule?colour=slack&show=mine",
    "/accuracy?application=jacobi&by=hosts",
    "/models/applications/sweep3d",
    "/models/hardware/sgi_origin2000",
    "/models/templates/wavefront",
)


def test_no_page_has_a_serious_fault_in_light_and_dark(visitor: Visitor) -> None:
    found = []
    for path in PAGES:
        visitor.page.emulate_media(color_scheme="light")
        page = visitor.go(path)
        if path.startswith("/submit?application"):
            page.wait_for_selector("[data-foreseen] .verdict")
        alike = DRAWN_ALIKE.get(path, "")
        found += [(path, "light", fault) for fault in visitor.faults(alike=alike)]
        page.emulate_media(color_scheme="dark")
        coloured = visitor.faults("color-contrast", alike=alike)  # nothing else differs
        found += [(path, "dark", fault) for fault in coloured]
    assert found == []
    visitor.complaints[:] = [text for text in visitor.complaints if "404" not in text]  # of the page that is not there


def test_forced_colours_leave_what_colours_say(browser: Browser, busy: Site) -> None:
    """Legend, current page and lamp were lost where the system forces its own colours."""
    with visiting(browser, busy, forced_colors="active") as visitor:
        page = visitor.go("/schedule")
        colour = "(each) => getComputedStyle(each, '::before').backgroundColor"
        keys = {page.locator(f".legend .key{kind}").first.evaluate(colour) for kind in ("", ".running-key")}
        assert len(keys) == 2
        border = "(each) => getComputedStyle(each).borderBottomColor + getComputedStyle(each).borderBottomWidth"
        shown = [page.locator(f".top nav a[href='{path}']").evaluate(border) for path in ("/schedule", "/tasks")]
        assert shown[0] != shown[1]
        lamp = page.locator(".live")
        assert lamp.evaluate("each => getComputedStyle(each).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_every_page_fits_a_phone_and_a_finger(browser: Browser, busy: Site) -> None:
    pressed = (
        "button, .button, input:not([type=checkbox], [type=hidden]), select, summary, .tabs a, .top nav a, .tick label"
    )
    small = """all => all.filter(each => each.checkVisibility({checkVisibilityCSS: true}))
      .map(each => [each.getBoundingClientRect().height, each.outerHTML.slice(0, 120)])
      .filter(([height]) => height && height < 43.5).map(([height, what]) => `${height} ${what}`)"""
    with visiting(browser, busy, viewport=PHONE, has_touch=True, is_mobile=True) as visitor:
        wider, found = {}, {}
        for path in PAGES + MORE:
            page = visitor.go(path)
            wider[path] = visitor.sideways()
            if path in PAGES:
                found[path] = page.locator(pressed).evaluate_all(small)
        assert {path: pixels for path, pixels in wider.items() if pixels} == {}
        assert {path: what for path, what in found.items() if what} == {}


def test_on_a_phone_the_menu_shows_where_one_is_and_lists_show_slack(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True) as visitor:
        page = visitor.go("/administration/health")
        current = page.locator(".top nav [aria-current]").bounding_box()
        assert current is not None
        assert 0 <= current["x"] <= 390 - current["width"]
        page = visitor.go("/tasks?search=jacobi")
        slack = page.locator("tbody tr td.right:not(.minor)").first.bounding_box()
        assert slack is not None
        assert slack["x"] + slack["width"] <= 390


def test_everything_is_reached_with_the_keyboard_alone(visitor: Visitor) -> None:
    page = visitor.go("/submit")
    tab_to(page, ".card:has-text('jacobi')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/submit?application=jacobi")
    tab_to(page, "[name='p.Scale']")
    page.keyboard.press("Control+A")
    page.keyboard.type("2")
    tab_to(page, "[data-ahead='3600']")
    page.keyboard.press("Space")
    tab_to(page, "form button.primary")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r".*/tasks/\d+"))
    tab_to(page, "button.danger")
    page.keyboard.press("Enter")
    tab_to(page, ".toast button:text-is('Cancel now')")  # the focus is on the one before it
    page.keyboard.press("Enter")
    page.wait_for_selector("h1 .pill.cancelled")
