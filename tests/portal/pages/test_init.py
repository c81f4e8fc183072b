"""Every page in a real browser, before a daemon with real tasks on local slots."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import AccountRequest, TaskRequest
from tests.portal.pages.visitor import PHONE, Visitor, visiting
from tests.testbed.nursery import QuickSite
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Dialog, Page, Route

    from demo.site import Site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    # The HTTP library leaves the socket to the garbage collector where nobody listens.
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

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
DRAWN_ALIKE = "article.panel:nth-of-type(n + 21), .contents li li:nth-child(n + 9)"  # each by one line of a template
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


@pytest.fixture(scope="module")
def empty(browser: Browser) -> Iterator[Site]:
    with QuickSite("local", scale=0.05) as site:
        yield site


@pytest.fixture(scope="module")
def busy() -> Iterator[Site]:
    """One task has completed, one has failed, some run and some wait, and one host is down."""
    with QuickSite("local", scale=0.05) as site, site.client() as client:
        sleeps = ["/bin/sh", "-c", "echo working on $COSCHED_RANK; echo oh >&2; sleep 6000"]
        client.submit(TaskRequest(application="jacobi", deadline=time.time() + 600))
        client.submit(TaskRequest(command=("/bin/false",), hosts=2))
        client.wait(["1", "2"], timeout=60)
        site.take_host("host16")
        long = [TaskRequest(command=tuple(sleeps), profile=(600.0,), name=f"long {n}") for n in range(20)]
        client.submit_all(
            [*long, TaskRequest(application="fft", parameters={"Scale": 100}, hosts=1, deadline=time.time() + 9999)]
        )
        until(lambda: client.status().tasks["running"] >= 15)
        yield site


@pytest.fixture
def visitor(browser: Browser, busy: Site) -> Iterator[Visitor]:
    with visiting(browser, busy) as visitor:
        yield visitor
        assert visitor.complaints == []


def state_of(page: Page) -> str:
    return page.locator("h1 .pill").inner_text()


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


def test_no_page_has_a_serious_fault_in_light_and_dark(visitor: Visitor) -> None:
    found = []
    for path in PAGES:
        visitor.page.emulate_media(color_scheme="light")
        page = visitor.go(path)
        if path.startswith("/submit?application"):
            page.wait_for_selector("[data-foreseen] .verdict")
        alike = DRAWN_ALIKE if path == "/docs" else ""
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


def test_the_chart_is_walked_with_arrows(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    tab_to(page, "[data-gantt]")
    page.keyboard.press("ArrowRight")
    first = page.locator("path.chosen").get_attribute("data-task")
    assert page.locator(".tip").is_visible()
    page.keyboard.press("ArrowRight")
    second = page.locator("path.chosen").get_attribute("data-task")
    assert first != second
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tasks/{second}")


def test_the_chart_tells_what_is_pointed_at_and_opens_it(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    bar = page.locator("path.running").first
    task = bar.get_attribute("data-task")
    bar.hover(force=True)
    assert "runs on 1 host" in page.inner_text(".tip")
    bar.click(force=True)
    page.wait_for_url(f"**/tasks/{task}")


def test_the_chosen_task_stays_chosen_while_other_parts_of_the_page_are_renewed(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/schedule")
    tab_to(page, "[data-gantt]")
    page.keyboard.press("ArrowRight")
    task = page.locator("path.chosen").get_attribute("data-task")
    with renewal(page, "state"), renewal(page, "chart"), busy.client() as client:
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
    assert page.locator("path.chosen").get_attribute("data-task") == task
    assert page.locator(".tip").is_visible()


def test_a_tooltip_under_the_pointer_survives_a_new_chart(visitor: Visitor, busy: Site) -> None:
    page = visitor.go("/schedule")
    page.locator("path.running").first.hover(force=True)
    with renewal(page, "chart"), busy.client() as client:
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
    assert page.locator(".tip").is_visible()
    assert "runs on 1 host" in page.inner_text(".tip")


def test_a_stroke_over_the_chart_looks_closer_and_a_key_shows_all_again(visitor: Visitor) -> None:
    page = visitor.go("/schedule?span=1h")
    box = page.locator(".gantt .ground").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 30)
    assert float(page.locator(".gantt .stroke").get_attribute("width") or 0) > 100
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 30)
    page.mouse.up()
    wait_until(page, lambda: 890 < seen_seconds(page) < 910)
    assert "/schedule?from=" in page.url  # and no task was opened
    page.wait_for_selector("text=These hours stand still")
    assert visitor.faults() == []
    page.focus("[data-gantt]")
    page.keyboard.press("0")
    page.wait_for_selector("text=These hours stand still", state="detached")
    assert page.url.endswith("/schedule")
    wait_until(page, lambda: seen_seconds(page) > 1000)


def test_wheel_and_keys_move_and_widen_the_time_that_is_seen(visitor: Visitor) -> None:
    page = visitor.go("/schedule?span=1h")
    page.locator(".gantt .ground").hover(force=True)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    wait_until(page, lambda: 2000 < seen_seconds(page) < 3000)
    closer = seen_seconds(page)
    page.focus("[data-gantt]")
    page.keyboard.press("-")
    wait_until(page, lambda: abs(seen_seconds(page) - 2 * closer) < 2)
    left = "each => Number(each.dataset.from)"
    before = page.locator("[data-gantt]").evaluate(left)
    page.keyboard.press("Shift+ArrowRight")
    wait_until(page, lambda: abs(page.locator("[data-gantt]").evaluate(left) - before - closer / 2) < 2)


def test_two_fingers_look_closer(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy, viewport=PHONE, has_touch=True, is_mobile=True) as visitor:
        page = visitor.go("/schedule?span=1h")
        box = page.locator(".gantt .ground").bounding_box()
        assert box is not None
        y, middle = box["y"] + 20, 180.0
        session = page.context.new_cdp_session(page)

        def touch(kind: str, *places: float) -> None:
            points = [{"x": x, "y": y, "id": number} for number, x in enumerate(places)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", middle - 30, middle + 30)
        for step in range(1, 7):
            touch("touchMove", middle - 30 - 10 * step, middle + 30 + 10 * step)
        touch("touchEnd")
        wait_until(page, lambda: seen_seconds(page) < 2000)
        assert visitor.complaints == []


def test_tasks_stand_out_and_are_coloured_by_choice(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    bars = page.locator("path[data-task]")
    assert page.locator("path.dim").count() == 0
    page.select_option("#show", "application:fft")
    page.wait_for_selector("path.dim", state="attached")
    assert page.locator("path[data-task].dim").count() == bars.count() - 1
    assert "show=application%3Afft" in page.url
    page.select_option("#colour", "slack")
    page.wait_for_selector("path.slack-time:not(.past)", state="attached")
    assert page.locator(".legend >> text=no deadline").count() == 1
    assert visitor.faults() == []
    page.click(".tabs a:text-is('1h')")
    page.wait_for_url("**/schedule?show=application%3Afft&colour=slack&span=1h")


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


def test_a_page_whose_login_has_ended_leads_to_the_login(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy) as visitor, busy.client() as client:
        page = visitor.go("/tasks")
        page.context.clear_cookies(name="cosched_session")
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
        page.wait_for_url("**/login?next=%2Ftasks")
        assert page.locator("form[action='/login']").count() == 1


def test_a_login_that_ends_takes_nothing_that_was_typed(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy) as visitor, busy.client() as client:
        page = visitor.go("/submit?application=jacobi")
        page.fill("[name='p.Scale']", "7")
        page.fill("[name=name]", "typed with care")
        page.context.clear_cookies(name="cosched_session")
        # The page notices by itself; to press a button would be a race with that.
        client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
        page.wait_for_selector("dialog.again")
        page.keyboard.press("Escape")  # whoever has no password leaves by a link
        page.wait_for_url("**/login?next=%2Fsubmit%3Fapplication%3Djacobi")
        address = client.login_link().url.partition("/login")[2]
        page.goto(f"{visitor.address}/login{address}&next=%2Fsubmit%3Fapplication%3Djacobi")
        page.click("main button")
        page.wait_for_selector("form .banner:has-text('What you had typed')")
        assert (page.input_value("[name='p.Scale']"), page.input_value("[name=name]")) == ("7", "typed with care")
        assert visitor.faults() == []
        visitor.go("/tasks")
        assert visitor.go("/submit?application=jacobi").input_value("[name=name]") == ""


def test_one_logs_in_again_on_the_page_and_goes_on(browser: Browser, busy: Site) -> None:
    """What was typed was lost, or a detour through the login's page away."""
    with busy.client() as client:
        client.add_account(AccountRequest(name="paula", password=PASSWORD, role="user"))
        with visiting(browser, busy, log_in=False) as visitor:
            page = visitor.page
            page.goto(visitor.address + "/login?next=%2Fsubmit%3Fapplication%3Djacobi")
            page.fill("#login-name", "paula")
            page.fill("#login-password", PASSWORD)
            page.click("main button")
            page.wait_for_selector(".live.on")
            assert "Europe/Berlin" in {each["value"] for each in page.context.cookies()}
            page.fill("[name='p.Scale']", "99")
            page.fill("[name=name]", "typed with care")
            page.context.clear_cookies(name="cosched_session")
            page.wait_for_selector("dialog.again")  # the preview notices, or a part of the page
            assert page.input_value("dialog [name=name]") == "paula"
            assert visitor.faults() == []
            page.keyboard.type("a wrong one")  # into the password, which has the focus
            page.keyboard.press("Enter")
            page.wait_for_selector("dialog .banner.bad")
            page.keyboard.type(PASSWORD)
            page.keyboard.press("Enter")
            page.wait_for_selector("dialog", state="detached")
            page.wait_for_selector("[data-foreseen]:not(.stale) .verdict")
            assert (page.input_value("[name='p.Scale']"), page.input_value("[name=name]")) == ("99", "typed with care")
            page.click("button:text-is('Submit')")
            page.wait_for_url(re.compile(r".*/tasks/\d+"))
            assert "typed with care" in page.inner_text("h1")
            client.cancel(page.url.rpartition("/")[2])
        client.remove_account("paula")


def test_what_is_sent_after_the_login_has_ended_is_typed_again_by_nobody(visitor: Visitor, busy: Site) -> None:
    """The page had not noticed yet: the change was lost on the way to the login."""
    with busy.client() as client:
        task = client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99}, name="changed")).id
        page = visitor.go(f"/tasks/{task}")
        page.click("summary:text-is('Change')")
        page.route("**?part=*", lambda _route: None)  # no answer: no part of the page notices
        page.fill("[name=name]", "typed with care")
        page.context.clear_cookies(name="cosched_session")
        page.click("button:text-is('Change')")
        page.wait_for_url(f"**/login?next=%2Ftasks%2F{task}")
        page.unroute_all()
        address = client.login_link().url.partition("/login")[2]
        page.goto(f"{visitor.address}/login{address}&next=%2Ftasks%2F{task}")
        page.click("main button")
        page.wait_for_selector("form .banner:has-text('What you had typed')")
        assert page.input_value("[name=name]") == "typed with care"
        client.cancel(task)


def test_back_shows_the_form_as_it_was_typed(visitor: Visitor, busy: Site) -> None:
    """Fields that browsers are not to complete were empty again after Back."""
    page = visitor.go("/submit?application=jacobi")
    page.fill("[name='p.Scale']", "99")
    page.fill("[name=hosts]", "2-8")
    page.click("summary:text-is('More')")
    page.fill("[name=priority]", "3")
    page.check("[name=best_effort]")
    page.click("button:text-is('Submit')")
    page.wait_for_url(re.compile(r".*/tasks/\d+"))
    page.go_back()
    page.wait_for_selector("[data-foreseen]:not(.stale) .verdict")
    typed = [page.input_value(f"[name='{name}']") for name in ("p.Scale", "hosts", "priority")]
    assert (typed, page.is_checked("[name=best_effort]")) == (["99", "2-8", "3"], True)
    page.click("button:text-is('Submit')")  # the form has a key of its own: it is another task
    page.wait_for_url(re.compile(r".*/tasks/\d+"))
    with busy.client() as client:
        ids = [task.id for task in client.tasks(states=["queued"]).tasks if task.application == "jacobi"]
        assert len(ids) == 2
        for task in ids:
            client.cancel(task)
    assert visitor.go("/submit?application=jacobi").input_value("[name=hosts]") == ""  # a form opened anew is empty


def test_a_login_that_is_slow_to_come_is_asked_for_once(browser: Browser, busy: Site) -> None:
    held: list[Route] = []
    with visiting(browser, busy) as visitor, busy.client() as client:
        page = visitor.go("/tasks")
        page.route("**/tasks", lambda route: held.append(route))
        page.context.clear_cookies(name="cosched_session")
        for _ in range(3):
            client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
            page.wait_for_timeout(1200)
        give_up = time.monotonic() + 60
        while not held and time.monotonic() < give_up:
            page.wait_for_timeout(50)
        assert [route.request.is_navigation_request() for route in held] == [True]
        held[0].continue_()
        page.wait_for_url("**/login?next=%2Ftasks")


def test_a_tab_that_nobody_looks_at_gives_its_connection_back(visitor: Visitor) -> None:
    page = visitor.go("/tasks")
    seen = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    page.evaluate(seen % "true" + "document.dispatchEvent(new Event('visibilitychange')); 0")
    page.wait_for_selector(".live:not(.on)")
    page.evaluate(seen % "false" + "document.dispatchEvent(new Event('visibilitychange')); 0")
    page.wait_for_selector(".live.on")


def test_a_task_is_cloned_and_submitted_again(visitor: Visitor) -> None:
    page = visitor.go("/tasks/1")
    page.click("text=Clone")
    page.wait_for_url("**/submit?like=1")
    assert page.input_value("[name=deadline]")
    page.go_back()
    page.click("text=Submit again")
    page.wait_for_url(re.compile(r".*/tasks/(?!1$)\d+"))
    page.click("button.danger")
    page.click(".toast button:text-is('Cancel now')")
    page.wait_for_selector("h1 .pill.cancelled")


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


def test_the_late_are_found_from_any_schedule_and_list(visitor: Visitor, busy: Site) -> None:
    hurried = TaskRequest(application="jacobi", parameters={"Scale": 99}, deadline="now+1m", best_effort=True)
    with busy.client() as client:
        task = client.submit(hurried).id
        page = visitor.go("/schedule")
        page.wait_for_selector(".top .late:has-text('1 late')")
        head = page.locator(".top").bounding_box()
        assert head is not None
        assert head["height"] < 64  # of one line: Log out stood in a second one
        page.click(".deadlines .late")
        page.wait_for_url("**/tasks?state=late")
        assert page.locator("tbody tr th a").evaluate_all("links => links.map(link => link.pathname)") == [
            f"/tasks/{task}"
        ]
        assert visitor.faults() == []
        client.cancel(task)
        page.wait_for_selector(".deadlines .late", state="detached")


def test_a_late_task_is_saved_by_a_button(visitor: Visitor, busy: Site) -> None:
    hurried = TaskRequest(application="jacobi", parameters={"Scale": 99}, deadline="now+1m", best_effort=True)
    with busy.client() as client:
        task = client.submit(hurried).id
        page = visitor.go(f"/tasks/{task}")
        page.wait_for_selector("text=What would save it")
        assert visitor.faults() == []
        page.click("text=Take this deadline")
        page.wait_for_url(f"**/tasks/{task}")
        page.wait_for_selector("text=to spare")
        assert page.locator("text=What would save it").count() == 0
        client.cancel(task)
        alone = client.submit(replace(hurried, hosts=1)).id  # all hosts but one are taken for long
        page = visitor.go(f"/tasks/{alone}")
        given = page.locator("button:has-text('Give it')")
        hosts = int(re.findall(r"\d+", given.inner_text())[0])
        assert hosts > 1
        with page.expect_navigation():
            given.click()
        profile = client.task(alone).profile
        assert profile is not None
        assert [count for count, seconds in enumerate(profile.seconds, 1) if seconds is not None] == [hosts]
        client.cancel(alone)


def test_a_refused_change_says_why_and_keeps_what_was_typed(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        task = client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99}, name="changed")).id
        page = visitor.go(f"/tasks/{task}")
        page.click("summary:text-is('Change')")
        page.fill("[name=hosts]", "zillions")
        page.fill("[name=name]", "typed with care")
        page.click("button:text-is('Change')")
        page.wait_for_selector("main > .banner.bad:has-text('zillions')")
        assert f"/tasks/{task}?refused=" in page.url
        assert (page.input_value("[name=hosts]"), page.input_value("[name=name]")) == ("zillions", "typed with care")
        page.fill("[name=hosts]", "2")
        page.click("button:text-is('Change')")
        page.wait_for_selector("h1:has-text('typed with care')")
        client.cancel(task)


def test_enter_in_a_templates_name_keeps_it_and_submits_nothing(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        page = visitor.go("/submit?application=jacobi")
        known = client.tasks().total
        page.fill("[name='p.Scale']", "9")
        page.click("summary:has-text('Keep this form')")
        page.fill("#template", "nine")
        page.press("#template", "Enter")
        page.wait_for_url("**/submit?template=nine")
        assert page.input_value("[name='p.Scale']") == "9"
        assert client.tasks().total == known
        visitor.go("/submit")
        assert visitor.faults() == []
        page.click("button[aria-label='Delete the template nine']")
        page.click(".toast button:text-is('Delete now')")
        page.wait_for_selector("text=Your templates", state="detached")


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


def test_too_large_a_file_is_said_so_before_it_is_sent(visitor: Visitor) -> None:
    page = visitor.go("/submit?own=file")
    page.set_input_files("#file_upload", {"name": "big.sh", "mimeType": "text/plain", "buffer": b"x" * (5 << 20)})
    said = "document.querySelector('#file_upload').validationMessage"
    assert page.evaluate(said) == "This file has 5.0 MiB: at most 4 can be sent."
    page.set_input_files("#file_upload", {"name": "small.sh", "mimeType": "text/plain", "buffer": b"#!/bin/sh\n"})
    assert page.evaluate(said) == ""
    assert page.input_value("[name=file]") == "#!/bin/sh\n"


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


def test_what_waits_is_not_cancelled_where_that_is_undone(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        task = client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99}, name="kept")).id
        page = visitor.go(f"/tasks/{task}")
        page.click("button.danger")
        assert "will be cancelled in" in page.inner_text(".toast")
        page.wait_for_timeout(1500)  # the page's parts came anew, and the words stay
        page.click(".toast button:text-is('Undo')")
        page.wait_for_selector(".toast", state="hidden")
        page.click("button.danger")
        page.goto(page.url.replace(f"/tasks/{task}", "/tasks"))  # who leaves the page has meant it
        page.wait_for_selector(f"tr:has([value='{task}']) .pill.cancelled")
        assert client.task(task).state == "cancelled"


def test_what_runs_is_cancelled_after_a_question(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        running = next(task.id for task in client.tasks(states=["running"]).tasks)
        page = visitor.go(f"/tasks/{running}")
        page.click("button.danger")
        page.wait_for_url(f"**/tasks/{running}/cancel")
        assert "has run for" in page.inner_text("form.confirm")
        assert visitor.faults() == []
        page.click("text=Keep it")
        page.wait_for_url(f"**/tasks/{running}")
        assert client.task(running).state == "running"


def test_several_tasks_are_cancelled_at_once(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        mine = [TaskRequest(application="jacobi", parameters={"Scale": 99}, name=f"several {n}") for n in range(3)]
        made = [task.id for task in client.submit_all(mine)]
        page = visitor.go("/tasks?search=several")
        assert not page.locator("#chosen").is_visible()
        for task in made[:2]:
            page.check(f"[value='{task}']")
        client.cancel(made[2])
        page.wait_for_selector(f"tr:has([value='{made[2]}']) .pill.cancelled")  # the list came anew, with the ticks
        assert visitor.faults() == []
        page.click("#chosen button:text-is('Cancel')")
        assert "2 tasks will be cancelled" in page.inner_text(".toast")
        page.click(".toast button:text-is('Cancel now')")
        page.wait_for_selector(f"tr:has([value='{made[0]}']) .pill.cancelled")
        assert page.url.endswith("/tasks?search=several")
        assert [client.task(task).state for task in made] == ["cancelled"] * 3


def test_a_whole_page_of_tasks_is_ticked_held_and_released(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        mine = [TaskRequest(application="jacobi", parameters={"Scale": 99}, name=f"crowd {n}") for n in range(3)]
        made = [task.id for task in client.submit_all(mine)]
        page = visitor.go("/tasks?search=crowd")
        page.check("[data-tick-every]")
        page.click("#chosen button:text-is('Hold')")
        page.wait_for_url("**/tasks?search=crowd")
        assert all(client.task(task).held_by for task in made)
        visitor.page.check("[data-tick-every]")
        page.click("#chosen button:text-is('Release')")
        page.wait_for_url("**/tasks?search=crowd")
        assert not any(client.task(task).held_by for task in made)
        for task in made:
            client.cancel(task)


def test_enter_in_a_field_changes_the_ticked_tasks_and_cancels_none(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        mine = [TaskRequest(application="jacobi", parameters={"Scale": 99}, name=f"bulk {n}") for n in range(2)]
        made = [task.id for task in client.submit_all(mine)]
        page = visitor.go("/tasks?search=bulk")
        page.check("[data-tick-every]")
        page.click("#change summary")
        page.fill("#change [name=priority]", "5")
        assert visitor.faults() == []
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert [(client.task(task).priority, client.task(task).state) for task in made] == [(5, "queued")] * 2
        for task in made:
            client.cancel(task)


def test_a_tick_moves_nothing_and_is_counted(browser: Browser, busy: Site) -> None:
    """The first tick shifted the table by 42 px (a phone's by 95), so that the second click went astray."""
    phone: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    for options in ({}, phone):
        with visiting(browser, busy, **options) as visitor:
            page = visitor.go("/tasks")
            box = page.locator("tbody .tick label").first
            before = box.bounding_box()
            box.click()
            page.wait_for_selector("#chosen >> text=1 selected")
            assert before is not None
            assert box.bounding_box() == before
            assert min(before["width"], before["height"]) >= (44 if options else 24)
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


def test_what_a_task_wrote_is_downloaded(visitor: Visitor) -> None:
    page = visitor.go("/tasks/3")
    with page.expect_download() as found:
        page.click("text=Download out.0")
    assert found.value.suggested_filename == "3.out.0"
    assert Path(found.value.path()).read_text() == "working on 0\n"


def test_30_megabytes_of_output_are_read_by_parts_and_downloaded_whole(visitor: Visitor, busy: Site) -> None:
    count = 2_300_000
    with busy.client() as client:
        task = client.submit(TaskRequest(command=("/usr/bin/seq", "-f", "line %08.0f", str(count)))).id
        client.wait([task], timeout=120)
        page = visitor.go(f"/tasks/{task}")
        assert page.inner_text("pre[aria-label='out.0']").rstrip().endswith(f"line {count:08}")
        page.click("text=Read what stands before")
        page.wait_for_url(f"**/tasks/{task}/output/out?rank=0")
        last = page.inner_text("pre").split("\n")[0]
        page.click("a:text-is('Earlier') >> nth=0")
        page.wait_for_url("**end=*")
        assert int(page.inner_text("pre").rstrip().split("\n")[-1].split()[1]) == int(last.split()[1]) - 1
        assert visitor.faults() == []
        page.click("a:text-is('Beginning') >> nth=0")
        page.wait_for_selector("pre >> text=line 00000001")
        with page.expect_download() as found:
            page.click("text=Download all")
        content = Path(found.value.path()).read_text()
        assert len(content) == 14 * count > 30 << 20
        assert content.endswith(f"line {count:08}\n")


def test_what_a_task_wrote_is_shown_while_it_runs(visitor: Visitor) -> None:
    page = visitor.go("/tasks/3")
    page.wait_for_selector("pre >> text=working on 0")
    assert "oh" in page.inner_text("pre[aria-label='err.0']")


def test_a_failed_task_opens_with_why_and_its_last_errors(visitor: Visitor, busy: Site) -> None:
    steps = "for n in $(seq 9); do printf 'step %s\\r' $n >&2; done"
    said = f"{steps}; printf '\\n\\033[31mno such mesh\\033[0m\\n' >&2; exit 3"
    with busy.client() as client:
        task = client.submit(TaskRequest(command=("/bin/sh", "-c", said))).id
        client.wait([task], timeout=60)
        page = visitor.go(f"/tasks/{task}")
        assert page.inner_text(".failure h2") == "Exit code 3"
        assert page.inner_text(".failure pre") == "step 9\nno such mesh"
        assert page.inner_text(".lead").count("exit code") == 0
        assert visitor.faults() == []


def test_what_a_task_writes_is_followed_at_its_end_until_one_scrolls(visitor: Visitor, busy: Site) -> None:
    long = "for n in $(seq 300); do echo line $n; done; sleep 6000"
    with busy.client() as client:
        task = client.submit(TaskRequest(command=("/bin/sh", "-c", long))).id
        page = visitor.go(f"/tasks/{task}")
        page.wait_for_selector("pre >> text=line 300")
        left = "each => each.scrollHeight - each.clientHeight - each.scrollTop"
        box = page.locator("pre[aria-label='out.0']")
        assert box.evaluate(left) <= 1
        box.evaluate("each => { each.scrollTop = 7; }")
        with renewal(page, "head"):
            client.cancel(client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id)
        assert box.evaluate("each => each.scrollTop") == 7
        client.cancel(task)


def test_tasks_are_found(visitor: Visitor) -> None:
    page = visitor.go("/tasks?search=long+7")
    assert page.locator("tbody tr").count() == 1
    page = visitor.go("/tasks?state=failed&search=false")
    assert page.locator("tbody tr").count() == 1


PASSWORD = "as long as it must be"
HOSTILE = (
    "{{7*7}}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</title><h1>x",
    "javascript:alert(1)",
)


def test_names_are_shown_as_they_are_and_do_nothing(visitor: Visitor, busy: Site) -> None:
    """Bad inputs 19: nothing in a name is a template, an element or a script."""
    dialogs: list[str] = []

    def closed(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    visitor.page.on("dialog", closed)
    with busy.client() as client:
        made = client.submit_all(
            [TaskRequest(application="jacobi", parameters={"Scale": 99}, name=name) for name in HOSTILE]
        )
        try:
            for path in ("/tasks", "/schedule", "/domain"):
                text = visitor.go(path).inner_text("body")
                assert (path, [name for name in HOSTILE if name not in text]) == (path, [])
            for task, name in zip(made, HOSTILE, strict=True):
                assert name in visitor.go(f"/tasks/{task.id}").inner_text("h1")
                assert name in visitor.page.title()
            assert visitor.go("/tasks?search=<script>alert(1)</script>").locator("tbody tr").count() == 1
        finally:
            for task in made:
                client.cancel(task.id)
    assert dialogs == []


def test_marks_that_turn_text_round_are_refused_and_shown_by_name(browser: Browser, busy: Site) -> None:
    """Bad inputs 11: a right-to-left override in a name would show another name than the one that is there."""
    with visiting(browser, busy) as visitor:
        page = visitor.go("/submit?application=jacobi")
        page.fill("[name=name]", "gpj\u202etxt.exe")
        page.wait_for_selector(".verdict.bad")
        page.click("button:text-is('Submit')")
        page.wait_for_selector("main > .banner.bad")
        text = visitor.go("/tasks/%E2%80%AEevil").inner_text("main")
        assert "\u202e" not in text


def test_whoever_is_not_logged_in_is_led_to_the_login(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy, log_in=False) as visitor:
        visitor.page.goto(visitor.address + "/tasks/1")
        visitor.page.wait_for_url("**/login?next=*")
        assert visitor.faults() == []


@contextmanager
def renewal(page: Page, part: str) -> Iterator[None]:
    """Wait until a part of the page has come anew after what is done meanwhile."""
    element = page.locator(f"[data-live={part}]")
    element.evaluate("each => { each.addEventListener('renewed', () => { each.anew += 1; }); each.anew = 0; }")
    yield
    # The first answer may be to a question that was asked before.
    wait_until(page, lambda: element.evaluate("each => each.anew") >= 2)


def wait_until(page: Page, true: Callable[[], bool]) -> None:
    """Wait until something is true of the page."""
    give_up = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < give_up
        page.wait_for_timeout(50)


def seen_seconds(page: Page) -> float:
    """Return how much time the chart shows."""
    return float(page.locator("[data-gantt]").evaluate("each => each.dataset.to - each.dataset.from"))


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus, as somebody without a mouse does."""
    wanted = page.locator(selector).first
    for _ in range(80):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached with Tab")
