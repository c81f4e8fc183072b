"""The editor of models in a real browser: colours, marks at faults, the curve beside, keys; and a page without it.

The preview beside it, too, which stays still under the hand.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.portal.browser.visitor import BEFORE_A_SITE, PHONE, Visitor, visiting
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from demo.site import Site

pytestmark = BEFORE_A_SITE

EDITOR = ".cm-content"
GOOD = """application wing {
  var numeric: cells = 4000;
  proc exec init {
    step cpu { confdev 1e4 * cells / Nproc; }
  }
}
"""
# One of its faults stands behind a character of two halves.
FAULTY = GOOD.replace("confdev", "(* \U0001f600 *) confusec").replace("{\n  var", "{\n  wrong;\n  var")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with QuickSite("local", scale=0.05) as site:
        yield site


@contextmanager
def editing(browser: Browser, site: Site, text: str = "", **options: Any) -> Iterator[Visitor]:
    """Open the editor and type into it."""
    with visiting(browser, site, **options) as visitor:
        type_model(visitor, text)
        yield visitor
        assert visitor.complaints == []


def type_model(visitor: Visitor, text: str) -> None:
    page = visitor.go("/submit?own=command")
    page.click("summary:has-text('A model of your own')")
    page.click(EDITOR)
    page.keyboard.insert_text(text)


def wait_for_another_preview(page: Page) -> None:
    """Let the quarter of a minute pass after which the preview is asked for anew."""
    page.evaluate("document.addEventListener('foreseen', () => { document.body.dataset.came = ''; })")
    page.clock.fast_forward(15_000)
    page.wait_for_selector("body[data-came]")


def selected(page: Page) -> str:
    return str(page.evaluate("getSelection().toString()"))


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.className"))


def test_faults_are_marked_at_their_places_and_led_to(browser: Browser, site: Site) -> None:
    with editing(browser, site, FAULTY) as visitor:
        page = visitor.page
        page.wait_for_selector(".cm-lintRange-error:text-is('confusec')")
        assert page.locator(".cm-lineNumbers .cm-gutterElement:visible").all_inner_texts()[-1] == "8"
        places = page.locator("[data-foreseen] [data-line]")
        assert places.count() > 1
        lines = {place.get_attribute("data-line") for place in places.all()}
        assert page.locator(".cm-lint-marker-error").count() == len(lines)
        assert page.get_attribute(EDITOR, "aria-invalid") == "true"
        assert visitor.faults() == []
        page.click("[data-foreseen] [data-line]:has-text('confusec')")
        assert (selected(page), focused(page)) == ("confusec", "cm-content")
        page.keyboard.press("Control+Home")
        page.keyboard.press("F8")
        page.keyboard.press("F8")
        assert selected(page) == "confusec"
        page.locator(".cm-lint-marker-error").last.hover()
        page.wait_for_selector(".cm-tooltip .cm-diagnostic:has-text('confusec')")


def test_the_curve_stands_beside_a_model_before_there_is_a_command(browser: Browser, site: Site) -> None:
    with editing(browser, site, FAULTY) as visitor:
        page = visitor.page
        page.wait_for_selector(".cm-lintRange-error")
        page.click(EDITOR)
        page.keyboard.press("Control+A")
        page.keyboard.press("x")
        assert page.input_value("[name=model]") == "x"
        page.keyboard.press("Backspace")
        page.keyboard.insert_text(GOOD)
        page.wait_for_selector(".foreseen:not(.stale) svg.plot")
        page.wait_for_selector("text=Its program is still missing")
        page.wait_for_selector(".cm-lintRange-error, .cm-lint-marker-error", state="detached")
        assert page.get_attribute(EDITOR, "aria-invalid") == "false"
        page.fill("[name=command]", "/bin/true")
        page.wait_for_selector("text=Its program is still missing", state="detached")


def test_words_of_the_language_have_colours(browser: Browser, site: Site) -> None:
    loop = "  for (i = 1; i <= 3e2; i = i + 1) { step cpu { confdev 2 ms; } }"
    text = f'(* if\nfor *)\nproc exec solve {{\n{loop} string = "if"'
    with editing(browser, site, text) as visitor:
        words = "all => all.map(each => [each.textContent, each.className])"
        found = visitor.page.locator(".cm-line span").evaluate_all(words)
        assert [word for word, kind in found if kind == "c"] == ["(* if", "for *)"]
        assert [word for word, kind in found if kind == "k"] == ["proc", "exec", "for", "step", "confdev"]
        assert [word for word, kind in found if kind == "m"] == ["1", "3e2", "1", "2"]
        assert [word for word, kind in found if kind == "kp"] == ["ms"]
        assert [word for word, kind in found if kind == "s"] == ['"if"']


def test_tab_leaves_the_editor_both_ways_and_keys_indent(browser: Browser, site: Site) -> None:
    with editing(browser, site) as visitor:
        page = visitor.page
        assert "Tab leaves the text" in page.locator(f"#{page.get_attribute(EDITOR, 'aria-describedby')}").inner_text()
        page.keyboard.press("Tab")
        assert focused(page) == "settings"
        page.keyboard.press("Shift+Tab")
        assert focused(page) == "cm-content"
        page.keyboard.press("Shift+Tab")
        assert focused(page) == "model_upload"
        page.keyboard.press("Tab")
        page.keyboard.type("application a {\nvar numeric: n;\n}")
        assert page.input_value("[name=model]") == "application a {\n  var numeric: n;\n}"
        page.keyboard.press("Control+]")
        assert page.input_value("[name=model]").endswith("\n  }")
        page.keyboard.press("Control+[")
        page.keyboard.press("Control+Z")
        page.keyboard.press("Control+Y")
        assert page.input_value("[name=model]") == "application a {\n  var numeric: n;\n}"


def test_what_is_searched_for_is_found_and_replaced_and_sent_with_no_form(browser: Browser, site: Site) -> None:
    with editing(browser, site, GOOD) as visitor:
        page = visitor.page
        page.keyboard.press("Control+F")
        page.keyboard.type("cells")
        page.wait_for_selector(".cm-searchMatch")
        assert visitor.faults() == []
        page.fill(".cm-search [name=replace]", "nodes")
        page.click(".cm-search button:text-is('replace all')")
        assert page.input_value("[name=model]") == GOOD.replace("cells", "nodes")
        names = "[...new FormData(document.querySelector('form[data-preview]')).keys()]"
        assert {"search", "replace", "case"} & set(page.evaluate(names)) == set()
        page.press(".cm-search [name=replace]", "Escape")
        assert focused(page) == "cm-content"


def test_the_preview_stays_still_under_the_hand_as_it_is_asked_for_anew(browser: Browser, site: Site) -> None:
    with visiting(browser, site) as visitor:
        page = visitor.page
        page.clock.install()
        visitor.go("/submit?application=jacobi")
        page.fill("[name='p.Scale']", "100")
        page.click("text=+1 min")
        page.wait_for_selector(".foreseen:not(.stale) .offer button")
        dot = page.locator(".foreseen svg .mark").first
        dot.hover()
        pointed = dot.element_handle()
        page.focus(".foreseen .offer button")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.foreseen .help'))")
        words = selected(page)
        assert "As things stand" in words
        wait_for_another_preview(page)
        assert selected(page) == words
        assert focused(page) == "chip"
        assert pointed.evaluate("each => each.isConnected && each.matches(':hover')")
        assert visitor.complaints == []


def test_the_tooltip_of_a_fault_stays_as_the_preview_is_asked_for_anew(browser: Browser, site: Site) -> None:
    with visiting(browser, site) as visitor:
        page = visitor.page
        page.clock.install()
        type_model(visitor, FAULTY)
        page.hover(".cm-lintRange-error:text-is('confusec')")
        page.clock.run_for(1000)  # the editor waits for a hand that rests
        told = page.wait_for_selector(".cm-tooltip .cm-diagnostic:has-text('confusec')")
        wait_for_another_preview(page)
        assert told is not None
        assert told.is_visible()


def test_what_the_editor_holds_is_submitted(browser: Browser, site: Site) -> None:
    with editing(browser, site, GOOD) as visitor, site.client() as client:
        page = visitor.page
        page.fill("[name=command]", "/bin/true")
        page.wait_for_selector(".foreseen:not(.stale) svg.plot")
        page.click("form button.primary")
        page.wait_for_url(re.compile(r".*/tasks/\d+"))
        page.goto(f"{visitor.address}/submit?like={page.url.rpartition('/')[2]}")
        assert page.locator(".cm-line").all_inner_texts()[:2] == GOOD.splitlines()[:2]
        assert client.tasks().total >= 1


def test_a_file_and_what_was_typed_before_are_in_the_editor(browser: Browser, site: Site) -> None:
    with editing(browser, site) as visitor:
        page = visitor.page
        page.set_input_files("#model_upload", {"name": "a.psl", "mimeType": "text/plain", "buffer": GOOD.encode()})
        page.wait_for_selector(".cm-line:has-text('application wing')")
        page.wait_for_selector(".foreseen:not(.stale) svg.plot")
        visitor.go("/models")
        page.go_back()
        page.wait_for_selector(".cm-line:has-text('application wing')")
        assert page.input_value("[name=model]") == GOOD


def test_a_model_of_the_library_is_copied_into_the_editor(browser: Browser, site: Site) -> None:
    with visiting(browser, site) as visitor:
        page = visitor.go("/models/applications/jacobi_measured")
        page.click("text=Edit a copy")
        page.wait_for_selector(".cm-line:has-text('application jacobi_measured')")
        page.wait_for_selector(".foreseen:not(.stale) svg.plot")
        assert visitor.complaints == []


@pytest.mark.parametrize(
    "options",
    [
        {"color_scheme": "dark"},
        {"forced_colors": "active"},
        {"viewport": PHONE, "is_mobile": True, "has_touch": True},
    ],
    ids=["dark", "forced", "phone"],
)
def test_the_editor_is_as_good_in_the_dark_with_forced_colours_and_on_a_phone(
    browser: Browser, site: Site, options: dict[str, Any]
) -> None:
    wide = FAULTY.replace("application wing", f"(* {'long ' * 60}*)\napplication wing")
    with editing(browser, site, wide, **options) as visitor:
        page = visitor.page
        page.wait_for_selector(".cm-lintRange-error:text-is('confusec')")
        assert visitor.faults() == []
        assert visitor.sideways() == 0
        line = "each => getComputedStyle(each).textDecorationLine"
        assert page.locator(".cm-lintRange-error").first.evaluate(line) == "underline"
        if "is_mobile" in options:  # the list of faults is at hand above the button, and only there
            page.tap("[data-near] [data-line]:has-text('confusec')")
            assert selected(page) == "confusec"
            assert page.locator("[data-foreseen] .places").is_hidden()


def test_without_a_script_the_model_is_typed_into_a_field(browser: Browser, site: Site) -> None:
    with site.client() as client:
        link = client.login_link().url
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Log in as").click()
        page.goto(f"{link.partition('/login')[0]}/submit?own=command")
        page.fill("[name=command]", "/bin/true")
        page.click("summary:has-text('A model of your own')")
        page.get_by_label("Its text").fill(GOOD)
        assert page.locator("#model-help").is_hidden()  # of keys that it has not
        page.click("form button.primary")
        page.wait_for_url(re.compile(r".*/tasks/\d+"))
    finally:
        context.close()


def test_where_the_component_does_not_come_the_field_stays(browser: Browser, site: Site) -> None:
    with visiting(browser, site) as visitor:
        visitor.page.route("**/codemirror.js*", lambda route: route.abort())
        page = visitor.go("/submit?own=command")
        page.click("summary:has-text('A model of your own')")
        page.get_by_label("Its text").fill(FAULTY)
        page.wait_for_selector(".places [data-line]")
        assert page.locator(EDITOR).count() == 0
        assert all("ERR_FAILED" in complaint for complaint in visitor.complaints)
