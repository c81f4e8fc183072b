"""The layout of the pages in a real browser, whatever things are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role, RoleSource, Scope
from cosched.access.tokens import TokenGrant
from cosched.api.documents import NoticeRequest, TaskRequest
from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, JobReported
from tests.daemon.makers import HALVING, Daemon, daemon
from tests.portal.browser.visitor import PHONE, Visitor, open_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LONG = "n" * 196
APPLICATION = "a" * 64  # a catalogue takes no longer one
USER = Principal("u" * 128, Role.ADMINISTRATOR, source=RoleSource.GRANTED)
PAGES = (
    "/tasks",
    "/tasks?state=completed",
    "/tasks/1",
    "/tasks/2",
    "/tasks/3/cancel",
    "/submit",
    f"/submit?application={APPLICATION}",
    "/submit?like=2",
    "/schedule",
    "/schedule?colour=owner",
    "/deadlines",
    "/accuracy",
    f"/accuracy?application={APPLICATION}",
    "/domain",
    "/utilisation",
    "/utilisation?by=user&span=1h",
    "/models",
    "/account",
    "/docs",
    "/administration",
    "/administration/health",
    "/administration/configuration",
    "/administration/notices",
)


def happens(running: Daemon) -> None:
    """Let a task complete, one run, and two wait, all of them with long names."""
    inbox, now = running.inbox, running.clock.now()
    hosts = [Host(f"h{number}-{LONG}", f"c{number % 2}-{LONG}") for number in range(3)]
    down = Host(f"h3-{LONG}", f"c1-{LONG}", up=False, reason=f"waits for its new memory {LONG} {LONG}")
    inbox.apply(HostsObserved(now, (*hosts, down))).result(60)
    names = [f"t{number}-{LONG}" for number in range(6)]
    asked = [
        TaskRequest(application=APPLICATION, name=name, deadline=now + 3600, hosts=1, parameters={"work": 400.0})
        for name in names
    ]
    running.services.submissions.submit(USER, asked, "", "")
    for number, attempt in enumerate(inbox.ask(lambda core, _time: list(core.attempts)).result(60)):
        inbox.apply(AttemptSubmitted(now + 1, attempt, f"job-{LONG}")).result(60)
        inbox.apply(JobReported(now + 2, JobReport(attempt, JobState.RUNNING, started=now + 2))).result(60)
        if number < 2:
            state = (JobState.COMPLETED, JobState.FAILED)[number]
            ended = JobReport(attempt, state, started=now + 2, finished=now + 3, exit_code=number, reason=LONG * number)
            inbox.apply(JobReported(now + 3, ended)).result(60)
    running.services.notices.write(USER, NoticeRequest(text=LONG, until=now + 3600))


@pytest.fixture(scope="module")
def visitor(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Give a window of a browser at the pages of a domain in which everything has a long name."""
    folder = tmp_path_factory.mktemp("layout")
    (folder / "applications.d").mkdir()
    (folder / "applications.d" / f"{APPLICATION}.toml").write_text(HALVING)
    with daemon(folder, hosts=0, staging=0.0) as running:
        happens(running)
        with open_pages(browser, running) as pages:
            grant = TokenGrant(USER.name, Role.USER, {Scope.READ}, LONG[:60])
            pages.access.tokens.create(grant, pages.access.now(), pages.access.now() + 3600)
            with pages.visitor(USER.name, USER.role) as visitor:
                yield visitor


def test_names_of_200_characters_break_no_layout(visitor: Visitor) -> None:
    wider = {}
    for path in PAGES:
        page = visitor.go(path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            wider[path, width] = visitor.sideways()
    assert {where: pixels for where, pixels in wider.items() if pixels} == {}
    assert visitor.complaints == []


def test_hosts_and_reasons_can_be_read_whole(visitor: Visitor) -> None:
    visitor.page.set_viewport_size({"width": 1280, "height": 800})
    page = visitor.go("/domain")
    words = page.locator(".hosts b, .hosts span")
    cut = "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent)"
    assert words.count() > 8
    assert words.evaluate_all(cut) == []
    assert f"waits for its new memory {LONG} {LONG}" in page.locator(".hosts .off").inner_text()


def test_the_task_that_is_chosen_by_keys_is_seen_with_its_words_beside_it(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    page.focus("[data-gantt]")
    page.keyboard.press("ArrowRight")
    bar, words = page.locator("path.chosen").bounding_box(), page.locator(".tip").bounding_box()
    assert bar is not None
    assert words is not None
    assert bar["width"] > 0
    assert words["y"] >= bar["y"]
    page.keyboard.press("Escape")
    assert page.locator("path.chosen").count() == 0


def test_forced_colours_leave_one_page_of_the_menu_marked(visitor: Visitor) -> None:
    """The edges of all others, which are transparent elsewhere, were drawn there, too."""
    visitor.page.emulate_media(forced_colors="active")
    try:
        page = visitor.go("/tasks")
        edge, ground = "getComputedStyle(each).borderBottomColor", "getComputedStyle(document.body).backgroundColor"
        marked = page.locator(".top nav a").evaluate_all(
            f"all => all.filter(each => {edge} !== {ground}).map(each => each.text)"
        )
        assert marked == ["Tasks"]
    finally:
        visitor.page.emulate_media(forced_colors="none")


def test_a_host_that_is_kept_free_says_so_while_a_task_still_runs_there(visitor: Visitor) -> None:
    page = visitor.go("/domain")
    name = page.locator(".hosts .busy b").first.inner_text()
    assert page.locator(".log li:has-text('job running')").first.inner_text().endswith("task 3")  # and no UUID
    page.locator(".hosts .busy a:text-is('keep tasks off')").first.click()
    page.fill("[name=name] >> nth=0", "new memory")
    page.click("button:text-is('Reserve')")
    page.wait_for_selector("[aria-label='Reserved hosts'] >> text=new memory")
    page = visitor.go("/domain")
    tile = page.locator(f".hosts .busy:has(b[title='{name}'])").inner_text()
    assert "reserved: new memory" in tile
    assert "keep tasks off" not in tile


def test_under_a_finger_the_schedule_says_what_fingers_do(visitor: Visitor) -> None:
    page = visitor.go("/schedule")
    assert page.locator(".by-pointer").is_visible()
    assert page.locator(".by-finger").is_hidden()
    browser = page.context.browser
    assert browser is not None
    phone = browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True, storage_state=page.context.storage_state()
    )
    try:
        page = phone.new_page()
        page.goto(f"{visitor.address}/schedule")
        assert page.locator(".by-finger").is_visible()
        assert page.locator(".by-pointer").is_hidden()
    finally:
        phone.close()


def test_a_token_is_revoked_after_seconds_in_which_that_is_undone(visitor: Visitor) -> None:
    """One click ended it for good, and programs with it."""
    for path in ("/account", "/administration"):
        page = visitor.go("/account")
        page.fill("[name=note]", "of a program")
        page.click("button:text-is('Create token')")
        page.wait_for_selector("text=Your new token")
        page = visitor.go(path)
        row, revoke = page.locator("tr:has-text('of a program')"), "tr:has-text('of a program') button"
        page.click(revoke)
        assert "will be revoked in" in page.inner_text(".toast")
        page.click(".toast button:text-is('Undo')")
        page.reload()
        assert row.count() == 1
        page.click(revoke)
        page.click(".toast button:text-is('Revoke now')")
        row.wait_for(state="detached")
        page.reload()
        assert row.count() == 0
    assert visitor.complaints == []
