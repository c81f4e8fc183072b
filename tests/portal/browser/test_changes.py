"""Tasks that are cloned, saved, changed, held and cancelled on the pages, in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.api.documents import TaskRequest
from tests.portal.browser.visitor import BEFORE_A_SITE, PHONE, Visitor, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

    from demo.site import Site

pytestmark = BEFORE_A_SITE


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


def test_a_command_of_several_lines_is_cloned_as_it_is(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        command = ("/bin/sh", "-c", "echo one\necho two\n", "", "last")
        task = client.submit(TaskRequest(command=command, environment={"A": "x\nB=y"})).id
        page = visitor.go(f"/submit?like={task}")
        page.wait_for_selector("[data-foreseen]:not(.stale) .verdict")
        page.click("button:text-is('Submit')")
        page.wait_for_url(re.compile(r".*/tasks/\d+"))
        clone = client.task(page.url.rpartition("/")[2])
        assert (clone.command, clone.environment) == (command, {"A": "x\nB=y"})
        for each in (task, clone.id):
            client.cancel(each)


def test_the_late_are_found_from_any_schedule_and_list(visitor: Visitor, busy: Site) -> None:
    hurried = TaskRequest(application="jacobi", parameters={"Scale": 2000}, deadline="now+1m", best_effort=True)
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
    hurried = TaskRequest(application="jacobi", parameters={"Scale": 2000}, deadline="now+1m", best_effort=True)
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


def test_too_large_a_file_is_said_so_before_it_is_sent(visitor: Visitor) -> None:
    page = visitor.go("/submit?own=file")
    page.set_input_files("#file_upload", {"name": "big.sh", "mimeType": "text/plain", "buffer": b"x" * (5 << 20)})
    said = "document.querySelector('#file_upload').validationMessage"
    assert page.evaluate(said) == "This file has 5.0 MiB: at most 4 can be sent."
    page.set_input_files("#file_upload", {"name": "small.sh", "mimeType": "text/plain", "buffer": b"#!/bin/sh\n"})
    assert page.evaluate(said) == ""
    assert page.input_value("[name=file]") == "#!/bin/sh\n"


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


def test_who_cancels_while_cosched_is_away_is_told_and_tries_again(browser: Browser, busy: Site) -> None:
    """The words went away as if it had been done."""
    with visiting(browser, busy) as visitor, busy.client() as client:
        task = client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99}, name="unheard")).id
        page = visitor.go(f"/tasks/{task}")
        page.route(f"**/tasks/{task}/cancel", lambda route: route.abort())
        page.click("button.danger")
        page.click(".toast button:text-is('Cancel now')")
        page.wait_for_selector(f".toast:has-text('cosched does not answer: Task {task} may not be cancelled.')")
        assert client.task(task).state == "queued"
        page.unroute_all()
        page.click(".toast button:text-is('Try again')")
        page.wait_for_selector("h1 .pill.cancelled")
        assert not page.locator(".toast").is_visible()
        assert all("ERR_FAILED" in complaint for complaint in visitor.complaints)


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


def test_what_is_ticked_while_others_may_be_kept_stays_ticked(visitor: Visitor, busy: Site) -> None:
    with busy.client() as client:
        waiting = [TaskRequest(application="jacobi", parameters={"Scale": 99}, name="ticked") for _ in range(2)]
        first, second = (task.id for task in client.submit_all(waiting))
        page = visitor.go("/tasks?search=ticked")
        page.check(f"[value='{first}']")
        page.click("button[value=cancel]")
        page.check(f"[value='{second}']")
        page.click(".toast button:text-is('Cancel now')")
        page.wait_for_selector(f"[value='{first}']:not(:checked)")
        assert page.is_checked(f"[value='{second}']")
        assert client.task(second).state == "queued"
        client.cancel(second)


def test_a_button_that_is_pressed_again_while_the_answer_is_slow_to_come_sends_nothing_more(
    visitor: Visitor, busy: Site
) -> None:
    """All ticked tasks were submitted twice."""
    with busy.client() as client:
        task = client.submit(TaskRequest(application="jacobi", parameters={"Scale": 99})).id
        page = visitor.go("/tasks?state=waiting")
        page.check(f"[value='{task}']")
        sent: list[Route] = []
        page.route("**/tasks/chosen*", lambda route: sent.append(route))
        press = "document.querySelector('button[value=again]').click()"
        page.evaluate(f"for (const after of [0, 500]) setTimeout(() => {press}, after); 0")
        page.wait_for_timeout(2000)
        assert len(sent) == 1
        sent[0].abort()
        client.cancel(task)


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
