from __future__ import annotations

import csv
import io
import re
import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from cosched.access.principals import Principal, Role
from cosched.api.documents import ForwardedPlacement, PlacementView
from cosched.coscheduler.task import TaskState
from cosched.store import Store
from tests.changes import changed
from tests.portal.makers import Portal, portal
from tests.tasks import make_task
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.api.documents import TaskPage


def listed(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/tasks/(\d+)"', text)


def test_everybody_sees_their_own_and_operators_all(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob, olga = here.person("ann"), here.person("bob"), here.person("olga", Role.OPERATOR)
        assert "Nothing has been submitted yet" in ann.see("/")
        ann.submit(name="hers")
        bob.submit(name="his")
        assert listed(ann.see("/")) == ["1"]
        assert listed(bob.see("/tasks")) == ["2"]
        assert listed(olga.see("/tasks")) == ["2", "1"]
        assert listed(olga.see("/tasks?mine=1")) == []
        assert listed(olga.see("/tasks?search=HERS")) == ["1"]
        assert listed(olga.see("/tasks?state=completed")) == []


def test_the_list_is_sorted_by_its_headings_and_filtered_by_its_address(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob, olga = here.person("ann"), here.person("bob"), here.person("olga", Role.OPERATOR)
        ann.submit(name="beta")
        bob.submit(name="alpha")
        ann.submit(name="gamma")
        assert listed(olga.see("/tasks?sort=name")) == ["2", "1", "3"]
        shown = olga.see("/tasks?sort=-name&owner=ann")
        assert listed(shown) == ["3", "1"]
        assert '<th scope="col" aria-sort="descending"><a href="?sort=name&amp;owner=ann">Task</a>' in shown
        assert '<a href="?sort=deadline&amp;owner=ann">Deadline</a>' in shown
        assert listed(olga.see("/tasks?search=bob")) == ["2"]
        assert listed(olga.see("/tasks?application=halving&sort=slack")) == ["3", "2", "1"]
        assert listed(olga.see("/tasks?application=none")) == []
        assert listed(ann.see("/tasks?owner=bob")) == []
        refused = ann.client.get("/tasks?sort=age")
        assert (refused.status_code, "give one of number, name, state" in refused.text) == (422, True)


def test_the_list_is_downloaded_as_a_table_without_formulas(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob = here.person("ann"), here.person("bob")
        ann.client.cookies.set("zone", "Europe/Berlin")
        ann.submit(name="=1+1", deadline="2030-01-31T18:00")
        ann.submit(name="two, three")
        bob.submit(name="his")
        answer = ann.client.get("/tasks.csv?sort=number")
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="tasks.csv"'
        first, second = csv.DictReader(io.StringIO(answer.text))
        assert (first["number"], first["name"], first["state"], first["owner"]) == ("1", "'=1+1", "queued", "ann")
        assert first["deadline"] == "2030-01-31 18:00:00+01:00"
        assert float(first["slack (s)"]) > 0
        assert (second["name"], second["deadline"], second["slack (s)"]) == ("two, three", "", "")


def test_the_table_has_all_tasks_and_no_slack_of_those_that_met_no_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it ended after 10,000 rows without a word."""
    monkeypatch.setattr("cosched.portal.pages.tasks._ROWS", 2)
    with portal(tmp_path) as here:
        now = here.access.now()
        ended = {"owner": "ann", "submitted": now - 50, "finished": now - 10, "deadline": now + 20}
        states = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED, TaskState.COMPLETED, TaskState.FAILED)
        here.daemon.store.commit(changed([make_task(n, state=each, **ended) for n, each in enumerate(states, 1)]))
        rows = [*csv.DictReader(io.StringIO(here.person("ann").client.get("/tasks.csv?sort=-number").text))]
        assert [row["number"] for row in rows] == ["5", "4", "3", "2", "1"]
        assert [row["slack (s)"] for row in rows] == ["", "30", "", "", "30"]


def test_the_head_says_whose_tasks_it_counts(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        here.person("ann").submit()
        assert "<span>yours:</span>" in here.person("ann").see("/tasks?part=state")
        everybodys = here.person("olga", Role.OPERATOR).see("/tasks?part=state")
        assert "yours" not in everybodys
        assert "<b>1</b> waiting" in everybodys


def test_the_head_of_every_page_counts_who_will_be_late(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann, bob = here.person("ann"), here.person("bob")
        due = datetime.fromtimestamp(here.daemon.clock.now() + 60).isoformat(timespec="seconds")
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", deadline=due, best_effort="on")
        link = '<a class="late" href="/tasks?state=late"><b>1</b> late</a>'
        until(lambda: link in ann.see("/models"))  # the core is not waited for
        assert 'href="/tasks?state=late"' not in bob.see("/models")


def test_a_long_list_has_pages(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        allowed = csrf(ann.see("/submit?own=file"))
        for _ in range(51):
            ann.client.post("/api/v1/tasks", json={"application": "halving"}, headers=allowed)
        first = ann.see("/tasks?search=halving")
        assert (len(listed(first)), "1 of 2, 51 tasks" in first) == (50, True)
        assert 'href="?search=halving&amp;page=2"' in first
        assert listed(ann.see("/tasks?search=halving&page=2")) == ["1"]
        assert listed(ann.see("/tasks?search=halving&page=999")) == ["1"]


def test_the_list_and_its_table_show_when_other_domains_end_their_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        for name in ("soon", "gone"):
            ann.submit(name=name, deadline="2030-01-31T18:00")
        services, end = here.daemon.services, 1893456000.0  # 2030, long after what is planned here
        gone = services.tasks.task(Principal("ann", Role.USER), "2").deadline
        there = ForwardedPlacement(task="2", peer="far", end=end, deadline=gone)
        plan = services.domain.plan
        monkeypatch.setattr(
            services.domain,
            "plan",
            lambda principal: replace(
                found := plan(principal),
                placements=tuple(spot for spot in found.placements if spot.task != "2"),
                forwarded=(there,),
            ),
        )
        assert listed(ann.see("/tasks?sort=end")) == ["1", "2"]
        assert listed(ann.see("/tasks?sort=-end")) == ["2", "1"]
        assert listed(ann.see("/tasks?sort=slack")) == ["2", "1"]
        assert f'<time datetime="{end:.3f}"' in ann.see("/tasks")
        assert "On time <b>2</b></a> of 2" in ann.see("/tasks")
        rows = {row["number"]: row for row in csv.DictReader(io.StringIO(ann.client.get("/tasks.csv").text))}
        assert rows["2"]["end"].startswith("2030-01-01 ")
        assert gone is not None
        assert float(rows["2"]["slack (s)"]) == gone - end


def test_the_list_says_where_a_task_is_and_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit(name="gone")
        asked = here.daemon.services.tasks.tasks
        for changes, said in (({"peer": "far"}, "in far"), ({"origin": "north"}, "from north")):

            def tasks(*args: Any, changes: dict[str, Any] = changes, **options: Any) -> TaskPage:
                found = asked(*args, **options)
                return replace(found, tasks=tuple(replace(task, **changes) for task in found.tasks))

            monkeypatch.setattr(here.daemon.services.tasks, "tasks", tasks)
            assert f'<span class="soft">{said}</span>' in ann.see("/tasks")


def test_the_list_says_what_does_not_go_as_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit(name="greedy", deadline=time.strftime("%Y-%m-%dT%H:%M", time.localtime(time.time() + 86400)))
        place = PlacementView(task="1", hosts=("h1",), start=0.0, end=4.2e9, deadline=None, running=True)
        plan = here.daemon.services.domain.plan(Principal("ann", Role.USER))
        for spot, said, promised in (
            (place, "late", True),
            (replace(place, unstarted=70.0, certain=False), "not begun for 1 min 10 s", False),
            (replace(place, overrun=12.0), "12 s longer than predicted", True),
        ):
            shown = MagicMock(return_value=replace(plan, placements=(spot,)))
            monkeypatch.setattr(here.daemon.services.domain, "plan", shown)
            text = ann.see("/tasks")
            assert said in text
            assert ("−" in text.partition("<tbody>")[2]) == promised


def csrf(text: str) -> dict[str, str]:
    found = re.search(r'name="csrf_token" value="([^"]+)"', text)
    assert found is not None
    return {"X-CSRF-Token": found[1]}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Portal]:
    """A portal with two tasks of ann's and one of bob's."""
    with portal(tmp_path) as here:
        for name in ("ann", "ann", "bob"):
            here.person(name).submit(**{"p.work": "33"})
        yield here


def states(here: Portal) -> list[str]:
    found = [here.daemon.store.task(str(number)) for number in range(1, 6)]
    return [str(task.status.state) for task in found if task is not None]


def test_several_are_cancelled_and_the_list_comes_back_as_it_was(here: Portal) -> None:
    answer = here.person("ann").send("/tasks/chosen?state=waiting", do="cancel", task=["1", "2"])
    assert (answer.status_code, answer.headers["Location"]) == (303, "/tasks?state=waiting")
    assert states(here) == ["cancelled", "cancelled", "queued"]


def test_several_are_submitted_again(here: Portal) -> None:
    assert here.person("ann").send("/tasks/chosen", do="again", task=["1", "2"]).headers["Location"] == "/tasks"
    assert states(here) == ["queued"] * 5


def test_several_are_held_and_released(here: Portal) -> None:
    ann = here.person("ann")
    ann.send("/tasks/1/cancel")
    ann.send("/tasks/chosen", do="hold", task=["1", "2"])  # what has ended is left alone
    assert held(here) == ["2"]
    ann.send("/tasks/chosen", do="release", task=["2"])
    assert held(here) == []
    refused = ann.send("/tasks/chosen", do="hold", task=["1"])
    assert (refused.status_code, "none of these tasks waits any more" in refused.text) == (409, True)


def test_who_cancels_a_task_is_written_down(here: Portal) -> None:
    """Nobody could be told which operator had ended a task of hers."""
    ann, olga = here.person("ann"), here.person("olga", Role.OPERATOR)
    olga.send("/tasks/1/cancel")
    ann.send("/tasks/chosen", do="cancel", task=["2"])
    assert olga.client.post("/api/v1/tasks/3/cancel", json={}, headers={"X-CSRF-Token": olga.csrf()}).status_code == 202
    olga.send("/tasks/3/cancel")
    lines = [(entry.user, entry.action, entry.detail) for entry in here.access.audit_log(9)]
    assert [line for line in lines if line[1].startswith("task ")] == [
        ("olga", "task cancelled", "3"),
        ("ann", "task cancelled", "2"),
        ("olga", "task cancelled", "1"),
    ]


def test_what_is_done_with_many_tasks_reads_no_history_of_them(here: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 tasks each cancel read all attempts and log lines, for a line in the audit log."""
    ann = here.person("ann")
    monkeypatch.setattr(Store, "history", MagicMock(side_effect=AssertionError("no history is needed")))
    ann.send("/tasks/chosen", do="hold", task=["1", "2"])
    assert held(here) == ["1", "2"]
    ann.send("/tasks/chosen", do="cancel", task=["1", "2"])
    assert states(here) == ["cancelled", "cancelled", "queued"]


def test_of_several_all_are_held_that_can_be_and_who_did_it_is_written_down(here: Portal) -> None:
    """The first that could not be held kept those behind it from it, and nothing was in the audit log."""
    ann, olga = here.person("ann"), here.person("olga", Role.OPERATOR)
    olga.send("/tasks/chosen", do="hold", task=["1"])
    refused = ann.send("/tasks/chosen", do="hold", task=["1", "2"])
    assert (refused.status_code, "1 of 2 tasks were held; task 1: task 1 is held by olga" in refused.text) == (
        422,
        True,
    )
    assert held(here) == ["1", "2"]
    assert "1 of 2 tasks were released; task 1: " in ann.send("/tasks/chosen", do="release", task=["1", "2"]).text
    assert held(here) == ["1"]
    lines = [(entry.user, entry.action, entry.detail) for entry in here.access.audit_log(9)]
    assert [line for line in lines if line[1].startswith("task ")] == [
        ("ann", "task released", "2"),
        ("ann", "task held", "2"),
        ("olga", "task held", "1"),
    ]


def test_several_are_changed_and_who_did_it_is_written_down(here: Portal) -> None:
    ann, store = here.person("ann"), here.daemon.store
    ann.send("/tasks/chosen?state=waiting", do="edit", priority="7", deadline="2030-01-31T18:00", task=["1", "2"])
    found = [store.task(number) for number in ("1", "2", "3")]
    assert [task.spec.priority for task in found if task is not None] == [7, 7, 0]
    assert [task.spec.deadline is not None for task in found if task is not None] == [True, True, False]
    assert [entry.action for entry in here.access.audit_log(9)].count("task edited") == 2


def test_of_several_those_that_cannot_be_changed_are_named(here: Portal) -> None:
    olga = here.person("olga", Role.OPERATOR)
    answer = olga.send("/tasks/chosen", do="edit", hosts="99", task=["1", "2", "3"])
    assert (answer.status_code, "0 of 3 tasks were changed; task 1: " in answer.text) == (422, True)
    assert "nothing is to be changed" in olga.send("/tasks/chosen", do="edit", task=["1"]).text
    olga.send("/tasks/1/cancel")
    olga.send("/tasks/chosen", do="edit", priority="3", task=["1", "2"])  # what has ended is left alone
    changed = here.daemon.store.task("2")
    assert changed is not None
    assert changed.spec.priority == 3


def test_the_list_is_held_to_what_was_submitted_lately(here: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = here.person("ann")
    assert listed(ann.see("/tasks?since=1h")) == ["2", "1"]
    assert '<option value="1h" selected>last hour</option>' in ann.see("/tasks?since=1h")
    later = time.time() + 7200
    monkeypatch.setattr("cosched.portal.pages.tasks.time.time", lambda: later)
    assert listed(ann.see("/tasks?since=1h")) == []
    assert listed(ann.see("/tasks?since=1d")) == ["2", "1"]
    assert listed(ann.see("/tasks?since=nonsense")) == ["2", "1"]


def test_a_whole_list_is_held_whatever_is_ticked(here: Portal) -> None:
    here.person("olga", Role.OPERATOR).send("/tasks/chosen?owner=ann", do="hold", matching="1", task=["3"])
    assert held(here) == ["1", "2"]


def test_a_whole_list_is_cancelled_on_a_page_that_asks(here: Portal) -> None:
    answer = here.person("ann").send("/tasks/chosen?state=waiting", do="cancel", matching="1")
    assert answer.headers["Location"] == "/cancel?task=2&task=1"
    assert states(here) == ["queued"] * 3


def held(here: Portal) -> list[str]:
    found = [here.daemon.store.task(str(number)) for number in range(1, 4)]
    return [task.id for task in found if task is not None and task.status.held_by]


@pytest.mark.parametrize("deed", ["cancel", "again", "hold"])
def test_another_users_task_is_not_there(here: Portal, deed: str) -> None:
    """Bad inputs 19: another user's task id."""
    assert here.person("ann").send("/tasks/chosen", do=deed, task=["3"]).status_code == 404
    assert states(here) == ["queued"] * 3


@pytest.mark.parametrize("fields", [{}, {"do": "cancel"}, {"do": "__class__", "task": ["1"]}, {"task": ["1"]}])
def test_what_says_nothing_does_nothing(here: Portal, fields: dict[str, str]) -> None:
    assert here.person("ann").send("/tasks/chosen", **fields).status_code == 422
    assert states(here) == ["queued"] * 3


def test_a_form_without_the_token_of_a_page_is_refused(here: Portal) -> None:
    """Bad inputs 19: no CSRF token."""
    assert here.person("ann").client.post("/tasks/chosen", data={"do": "cancel", "task": "1"}).status_code == 403
    assert states(here) == ["queued"] * 3


def test_what_ran_on_parts_of_hosts_shows_its_cores(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ran = {"state": TaskState.COMPLETED, "hosts": ("h01", "h02"), "finished": here.access.now(), "owner": "ann"}
        here.daemon.store.commit(changed([make_task(7, host_cores=8, **ran), make_task(8, **ran)]))
        ann = here.person("ann")
        cells = re.findall(r'<td class="right minor">([^<]*)</td>', ann.see("/tasks"))
        assert cells == ["2", "2 × 8"]
        assert "<small>8 cores of each</small>" in ann.see("/tasks/7")
        assert "cores of each" not in ann.see("/tasks/8")
        table = [line.split(",") for line in ann.client.get("/tasks.csv").text.splitlines()]
        assert [line[table[0].index("cores of each host")] for line in table[1:]] == ["", "8"]
