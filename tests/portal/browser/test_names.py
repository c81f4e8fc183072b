"""Names of tasks on the pages, in a real browser: found, shown as they are, and doing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from tests.portal.browser.visitor import BEFORE_A_SITE, Visitor, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog

    from demo.site import Site

pytestmark = BEFORE_A_SITE


HOSTILE = (
    "{{7*7}}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</title><h1>x",
    "javascript:alert(1)",
)


def test_tasks_are_found(visitor: Visitor) -> None:
    page = visitor.go("/tasks?search=long+7")
    assert page.locator("tbody tr").count() == 1
    page = visitor.go("/tasks?state=failed&search=false")
    assert page.locator("tbody tr").count() == 1


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
