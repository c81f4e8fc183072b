"""What pages say is so, in a real browser: which time, which page of a list, whose counts, which points."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role
from cosched.api.documents import ExchangeView, PeerView, TaskRequest
from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import Changes, RunRecord
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, JobReported
from tests.daemon.makers import HALVING, Daemon, StillClock, daemon
from tests.documents import detail, explained, profile
from tests.portal.browser.visitor import OpenPages, open_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from cosched.coscheduler.task import Task

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

ANN, BOB = Principal("ann", Role.USER), Principal("bob", Role.USER)
LONG = TaskRequest(application="halving", hosts=4, parameters={"work": 40000.0}, name="long")
WAITING = 55  # of ann's, more than a page of the list has
JACOBI = HALVING.replace('"halving"', '"jacobi_measured"')


class HandClock(StillClock):
    """A clock that a test sets."""

    def forward(self, seconds: float) -> None:
        self._moment += seconds


@dataclass(frozen=True)
class Here:
    """A domain with a busy user beside ann, and its pages."""

    daemon: Daemon
    pages: OpenPages


def run(running: Daemon, clock: HandClock, state: JobState | None = None, seconds: float = 0.0) -> None:
    """Let what has left begin, and end in a state after so many seconds."""
    inbox = running.inbox
    for attempt in inbox.ask(lambda core, _time: list(core.attempts)).result(60):
        inbox.apply(AttemptSubmitted(clock.now(), attempt, "job")).result(60)
        began = clock.now()
        inbox.apply(JobReported(began, JobReport(attempt, JobState.RUNNING, started=began))).result(60)
        if state is not None:
            clock.forward(seconds)
            code = 0 if state is JobState.COMPLETED else 3
            end = JobReport(attempt, state, started=began, finished=clock.now(), exit_code=code)
            inbox.apply(JobReported(clock.now(), end)).result(60)


@pytest.fixture(scope="module")
def here(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """Task 1 of ann's has completed, 2 has failed; bob's long one has all hosts, and 55 of ann's wait, one late."""
    folder, clock = tmp_path_factory.mktemp("answers"), HandClock()
    (folder / "applications.d").mkdir()
    (folder / "applications.d" / "jacobi.toml").write_text(JACOBI)
    with daemon(folder, hosts=0, staging=0.0, clock=clock) as running:
        hosts = tuple(Host(f"h{number}") for number in range(1, 5))
        running.inbox.apply(HostsObserved(clock.now(), hosts)).result(60)
        submit = running.services.submissions.submit
        submit(ANN, [TaskRequest(application="jacobi", hosts=2, name="solved")], "", "")
        run(running, clock, JobState.COMPLETED, 7.5)
        submit(ANN, [TaskRequest(application="halving", deadline=clock.now() + 900, name="broken")], "", "")
        run(running, clock, JobState.FAILED, 4.0)
        submit(BOB, [LONG], "", "")
        run(running, clock)
        patient = TaskRequest(application="jacobi", deadline=clock.now() + 86400)
        late = TaskRequest(application="jacobi", deadline=clock.now() + 60, best_effort=True, name="hurried")
        submit(ANN, [*(replace(patient, name=f"w{n}") for n in range(WAITING - 1)), late], "", "")
        with open_pages(browser, running) as pages:
            yield Here(running, pages)


def test_a_refusal_has_one_earliest_deadline_in_the_readers_zone(here: Here) -> None:
    """It was told in the server's zone, and the preview named another one without a word."""
    with here.pages.visitor("ann", zone="Asia/Tehran") as visitor:
        page = visitor.go("/submit?application=halving")
        page.wait_for_selector("[data-zone]:has-text('Asia/Tehran')")
        page.fill("[name='p.work']", "40000")
        page.click("text=+1 h")
        page.wait_for_selector("[data-foreseen]:not(.stale) .verdict.bad")
        typed = page.input_value("[name=deadline]")
        foretold = " ".join(page.inner_text("[data-foreseen] .verdict").split())
        offered = page.get_attribute("[data-foreseen] [data-deadline]", "data-deadline")
        page.click("button:text-is('Submit')")
        page.wait_for_selector("main > .banner.bad")
        said = page.inner_text("main > .banner.bad")
        assert foretold == f"This deadline would be refused {said[0].upper()}{said[1:]}."
        times = _times(said)
        assert [time.utcoffset() for time in times] == [timedelta(hours=3, minutes=30)] * 2
        assert times[0].replace(tzinfo=None) == datetime.fromisoformat(typed)
        assert "the earliest deadline that can be met is" in said
        assert "with all hosts free" in said
        assert offered is not None  # bob's task has the hosts
        assert datetime.fromisoformat(offered) > times[1].replace(tzinfo=None)
        page.wait_for_selector("[data-foreseen]:not(.stale) [data-deadline]")
        page.click("text=Take it")
        page.wait_for_selector("[data-foreseen]:not(.stale) .verdict.good")
        assert all("422" in complaint for complaint in visitor.complaints)


def _times(text: str) -> list[datetime]:
    return [datetime.fromisoformat(each) for each in re.findall(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", text)]


def test_a_page_that_a_list_does_not_have_is_the_nearest_that_it_has(here: Here) -> None:
    """`?page=999` said that there was no task yet; the log said "Nothing yet."."""
    with here.pages.visitor("ann") as visitor:
        for number in ("999", "99999999999999999999"):
            page = visitor.go(f"/tasks?page={number}")
            assert page.locator("tbody tr").count() == WAITING + 2 - 50
            assert page.inner_text("nav.pages span").startswith("2 of 2")
            page = visitor.go(f"/domain?page={number}")
            assert page.locator(".log li:not(.empty)").count() > 0
            assert page.locator("nav.pages a").all_inner_texts() == ["newer"]
        for number in ("0", "-1", "two", ""):
            assert visitor.go(f"/tasks?page={number}").inner_text("nav.pages span").startswith("1 of 2")
            assert visitor.go(f"/domain?page={number}").locator("nav.pages a").all_inner_texts() == ["older"]
        assert visitor.complaints == []


def test_the_head_says_whose_tasks_it_counts_and_what_becomes_of_their_deadlines(here: Here) -> None:
    with here.pages.visitor("ann") as ann, here.pages.visitor("root", Role.OPERATOR) as root:
        page = ann.go("/models")
        for words in ("yours: 0 running 55 waiting", "54 on time", "1 late"):
            page.wait_for_selector(f".state:has-text('{words}')")
        head = page.locator(".top").bounding_box()
        assert head is not None
        assert head["height"] < 64, head  # of one line
        assert ann.faults() == []
        page.click(".state a:has-text('on time')")
        page.wait_for_url("**/tasks?state=on+time")
        assert page.locator("tbody th a:has-text('hurried')").count() == 0
        assert page.inner_text("nav.pages span") == "1 of 2, 54 tasks"
        page.click(".deadlines a.late")
        page.wait_for_url("**/tasks?state=late")
        assert page.locator("tbody th bdi").all_inner_texts() == ["hurried"]
        page.click(".deadlines a.early")
        page.wait_for_selector(".deadlines a.early[aria-current]")
        assert ann.complaints == []
        assert "yours:" not in root.go("/models").inner_text(".state")
        assert "1 running" in root.page.inner_text(".state")


def test_what_runs_took_stands_as_points_beside_curves(here: Here) -> None:
    with here.pages.visitor("ann") as visitor:
        page = visitor.go("/models/applications/jacobi_measured")
        assert _points(page, "measured") == {"measured: fast, 2: 7.5 s"}
        store = here.daemon.store
        task = next(each for each in store.tasks(limit=60) if each.spec.name == "w0")
        features = task.spec.features("ann")
        like = RunRecord("900", features.key, features.numbers, "ann", "jacobi", 3, "", 27.0, 31.0, 1.0)
        others = RunRecord("901", features.key, (*features.numbers, 9.0), "ann", "jacobi", 3, "", 27.0, 99.0, 1.0)
        store.commit(Changes(runs=(like, others)))
        page = visitor.go(f"/tasks/{task.id}")
        assert _points(page, "measured") == {"measured, 2: 7.5 s", "measured, 3: 31 s"}
        curve = {name.partition(":")[0]: x for name, x in _marks(page) if name.startswith("predicted")}
        point = dict(_marks(page))["measured, 3: 31 s"]
        assert abs(point - curve["predicted, 3"]) < 0.5  # above its number of hosts
        page = visitor.go("/submit?application=jacobi")
        page.wait_for_selector("[data-foreseen]:not(.stale) .plot")
        assert _points(page, "measured") == {"measured, 2: 7.5 s", "measured, 3: 31 s"}
        assert visitor.faults() == []
        assert visitor.complaints == []


def _marks(page: Page) -> list[tuple[str, float]]:
    """Return words and place of each point of the page's run-time curve."""
    words = "all => all.map(each => [each.textContent, each.getBoundingClientRect().x])"
    return [(name, x) for name, x in page.locator(".plot:has-text('number of hosts') circle.mark").evaluate_all(words)]


def _points(page: Page, name: str) -> set[str]:
    return {words for words, _ in _marks(page) if words.startswith(name)}


def test_a_failed_task_says_once_why_and_how_long_it_ran_and_looks_not_well(here: Here) -> None:
    """Its reason stood there twice, its run time was "–", and the list's dash was green."""
    with here.pages.visitor("ann") as visitor:
        page = visitor.go("/tasks/2")
        assert page.inner_text("[data-live=head]").lower().count("exit code 3") == 1
        assert "until it failed" in page.inner_text(".stat:has-text('Actual')")
        assert "4.0 s" in page.inner_text(".stat:has-text('Actual')")
        page = visitor.go("/tasks?state=failed")
        colour = "each => getComputedStyle(each).color"
        slack, name = page.locator("tbody td.right").last, page.locator("tbody td.wraps").first
        assert slack.inner_text() == "–"
        assert slack.evaluate(colour) == name.evaluate(colour)


def test_a_task_elsewhere_shows_prediction_and_end_from_there(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page said "Predicted –, no model" and "Ends –" above the chart of the task's own model."""
    now = here.pages.access.now()
    tasks = here.daemon.services.tasks
    there = detail(
        state="forwarded", peer="far", submitted=now - 100, deadline=now + 99, profile=profile((20.0, 10.0)),
        started=now - 10, hosts=("x",),
    )  # fmt: skip
    monkeypatch.setattr(tasks, "task", lambda *_: there)
    monkeypatch.setattr(tasks, "explain", lambda *_: explained(now - 10, now + 50))
    monkeypatch.setattr(tasks, "output", lambda *_: None)
    with here.pages.visitor("ann") as visitor:
        page = visitor.go("/tasks/7")
        assert "as far expects" in page.inner_text(".stat:has-text('Ends')")
        assert "1 min" in page.inner_text(".stat:has-text('Predicted')")
        assert "As it would run here" in page.inner_text("figure:has(.plot) figcaption")
        assert visitor.complaints == []


def test_a_form_submits_many_of_one_and_a_sweep_behind_them(here: Here) -> None:
    with here.pages.visitor("cat") as visitor:
        page = visitor.go("/submit?application=halving")
        page.fill("[name=name]", "each")
        page.fill("[name=array]", "0-2")
        page.click("button:text-is('Submit')")
        page.wait_for_url("**/tasks")
        assert page.locator("tbody th bdi").count() == 3
        first = max(_tasks_of(here, "cat"), key=lambda task: int(task.id))
        page = visitor.go("/submit?application=halving")
        page.fill("[name=name]", "swept")
        page.fill("[name=sweep]", "work=100..300 step 100")
        page.fill("[name=after]", first.id)
        page.click("button:text-is('Submit')")
        page.wait_for_selector("tbody tr:nth-child(6)")
        swept = [task for task in _tasks_of(here, "cat") if task.spec.name.startswith("swept")]
        assert sorted(dict(task.spec.parameters)["work"] for task in swept) == [100.0, 200.0, 300.0]
        assert {task.spec.after for task in swept} == {(first.id,)}
        assert visitor.complaints == []


def _tasks_of(here: Here, owner: str) -> list[Task]:
    return [task for task in here.daemon.store.tasks(limit=100) if task.owner == owner]


def test_the_map_shows_what_went_to_a_neighbour_and_what_came(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    far = {"role": "upper", "heard": None, "hosts": 16, "free": 4, "hardware": ("fast",), "given": 1, "taken": 2}
    far |= {"cores": 1024, "free_cores": 512}
    peers = [
        PeerView(name=name, address=f"{name}.example:8642", paused=False, fault=fault, **far)  # type: ignore[arg-type]
        for name, fault in (("far", ""), ("lost", "no answer"))
    ]
    went = {"name": "one", "owner": "ann", "time": here.pages.access.now(), "closed": None, "why": "near"}
    exchanges = [
        ExchangeView(peer="far", direction=direction, task=task, state=state, **went)  # type: ignore[arg-type]
        for direction, task, state in (("sent", "7", "refused"), ("sent", "8", "granted"), ("received", "9", "running"))
    ]
    monkeypatch.setattr(here.daemon.services.neighbours, "peers", lambda: peers)
    monkeypatch.setattr(here.daemon.services.history, "exchanges", lambda *_: exchanges)
    with here.pages.visitor("ann") as visitor:
        page = visitor.go("/domain")
        assert page.locator("svg.domains text").all_text_contents().count("1") == 1  # came
        assert page.locator("svg.domains polygon").count() == 2
        assert page.locator("svg.domains .box.away .name").all_text_contents() == ["lost"]
        row = page.inner_text("tr:has(th:text-is('far'))")
        assert "1 came back" in row
        assert "4 of 16, 512 of 1024 cores" in row
        assert visitor.faults() == []
        assert visitor.complaints == []


def test_a_reload_makes_no_second_token(here: Here) -> None:
    with here.pages.visitor("eve") as visitor:
        page = visitor.go("/account")
        page.fill("[name=note]", "once")
        page.click("button:text-is('Create token')")
        page.wait_for_selector("text=Your new token")
        for _ in range(2):
            page.reload()
            assert page.locator("text=Your new token").count() == 0
        assert page.locator("tr:has-text('once')").count() == 1
        assert len(here.pages.access.tokens.of("eve")) == 1
        assert visitor.complaints == []


def test_large_pages_are_sent_compressed(here: Here) -> None:
    with here.pages.visitor("ann") as visitor:
        for path in ("/schedule", "/tasks"):
            visitor.go(path)  # which may come anew, in the reader's zone
            answer = visitor.page.reload()
            assert answer is not None
            assert answer.headers["content-encoding"] == "gzip"
            assert int(answer.headers["content-length"]) < len(visitor.page.content()) / 2
