"""Logins that end while somebody works on a page, in a real browser: nothing that was typed is lost."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from cosched.api.documents import AccountRequest, TaskRequest
from tests.portal.browser.visitor import BEFORE_A_SITE, Visitor, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

    from demo.site import Site

pytestmark = BEFORE_A_SITE


PASSWORD = "as long as it must be"


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


def test_whoever_is_not_logged_in_is_led_to_the_login(browser: Browser, busy: Site) -> None:
    with visiting(browser, busy, log_in=False) as visitor:
        visitor.page.goto(visitor.address + "/tasks/1")
        visitor.page.wait_for_url("**/login?next=*")
        assert visitor.faults() == []
