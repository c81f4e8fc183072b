from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.access import Principal, Role
from cosched.api.documents import ElasticRequest, HostMoveView, ProfileView, ShapeFigure, TaskRequest
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.values import Elastic, LeadStatus, RestartRecord
from cosched.coscheduler.task import TaskState
from cosched.portal.pages.task import TIMELINE_WIDTH, _as_it_left, timeline
from tests.app.submission.detection import add_detection
from tests.changes import changed
from tests.documents import NOW, detail, explained, profile
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.portal.makers import Portal


def test_another_users_task_is_not_there(tmp_path: Path) -> None:
    """Bad inputs 19: another user's task id."""
    with portal(tmp_path) as here:
        here.person("ann").submit(name="secret plan")
        bob = here.person("bob")
        for answer in (bob.client.get("/tasks/1"), bob.send("/tasks/1/cancel"), bob.send("/tasks/1/again")):
            assert (answer.status_code, "secret plan" in answer.text) == (404, False)


def test_a_task_is_cancelled_and_submitted_again(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit(**{"p.work": "33", "deadline": "2030-01-31T18:00", "name": "night", "hosts": "2-3"})
        assert "<dt>Asked for</dt><dd>2-3 hosts</dd>" in ann.see("/tasks/1")
        assert ann.send("/tasks/1/cancel").headers["Location"] == "/tasks/1"
        assert '<span class="pill cancelled">' in ann.see("/tasks/1")
        assert ann.send("/tasks/1/again").headers["Location"] == "/tasks/2"
        first, second = here.daemon.store.task("1"), here.daemon.store.task("2")
        assert first is not None
        assert second is not None
        assert (second.spec.parameters, second.spec.name) == (first.spec.parameters, "night")
        assert second.spec.hosts_range == "2-3"
        assert first.spec.deadline is not None
        assert second.spec.deadline is not None
        allowed = [task.spec.deadline - task.submitted for task in (first, second) if task.spec.deadline is not None]
        assert abs(allowed[0] - allowed[1]) < 60


def test_a_page_leads_to_those_that_the_task_comes_after(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit()
        here.daemon.services.submissions.submit(
            Principal("ann", Role.USER), [TaskRequest(application="halving", after=("1",))], "", ""
        )
        text = ann.see("/tasks/2")
        assert '<dt>Comes after</dt><dd><a href="/tasks/1">1</a></dd>' in text
        assert "Task 1 (halving, queued), which it comes after" in text


def test_a_page_shows_the_shapes_of_a_task_and_the_one_that_is_planned(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        figures = tuple(ShapeFigure(hosts=hosts, cores=4, seconds=60.0 / hosts) for hosts in (1, 2))
        figures += (ShapeFigure(cores=16, seconds=18.0),)
        request = TaskRequest(command=("/bin/true",), shapes=figures)
        here.daemon.services.submissions.submit(Principal("ann", Role.USER), [request], "", "")
        text = ann.see("/tasks/1")
        assert "4-16 cores on each host" in text
        for shape in ("4 cores of one host: 1 min", "4 cores of each of 2 hosts: 30 s", "16 cores of one host: 18 s"):
            assert f"<li>{shape}</li>" in text
        assert "<small>16 cores of each</small>" in text  # hosts are not shared here: the quickest on one


def test_a_page_lists_the_workers_of_an_elastic_task_apart_from_its_attempts(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, elastic = here.person("ann"), ElasticRequest(worker=("/bin/worker",))
        request = TaskRequest(command=("/bin/true",), profile=(None, 60.0), elastic=elastic)
        here.daemon.services.submissions.submit(Principal("ann", Role.USER), [request], "", "")
        assert "<h2>Workers</h2>" not in ann.see("/tasks/1")
        lead = Attempt("u1", "1", ("h1",), 1, 60.0, NOW, AttemptState.RUNNING, lead=LeadStatus(("h2",)))
        worker = Attempt("u2", "1", ("h2",), 1, None, NOW, AttemptState.RUNNING, "w.1", worker=1)
        here.daemon.store.commit(changed([], [lead, worker]))
        text = ann.see("/tasks/1")
        assert "<td>h2</td><td>promised</td>" in text
        assert text.count("<code>u1</code>") == 1
        assert "u2" not in text
        assert "Hosts that worked for it" not in text  # it has not begun
        task = here.daemon.store.task("1")
        assert task is not None
        begun = [task.with_status(state=TaskState.RUNNING, started=NOW)]
        here.daemon.store.commit(changed(begun, [lead, replace(worker, started=NOW + 1)]))
        assert "Hosts that worked for it" in ann.see("/tasks/1")
        ended = [
            task.with_status(state=TaskState.COMPLETED, started=NOW, finished=NOW + 60, predicted=120.0, actual=60.0)
        ]
        lent = replace(worker, uuid="u3", worker=2, loan=True, started=NOW + 10, finished=NOW + 50)
        here.daemon.store.commit(changed(ended, [lead, worker, replace(lent, state=AttemptState.CANCELLED)]))
        page = ann.see("/tasks/1")
        assert "50 % shorter than predicted</small><small>with up to 1 lent host, for 40 s</small>" in page


def test_an_explanation_says_from_whom_hosts_were_taken_also_once_it_runs_and_has_ended(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, me = here.person("ann"), Principal("ann", Role.USER)
        for _ in range(2):
            ann.submit()
        gone = Attempt("u1", "1", ("h2",), 1, None, NOW, AttemptState.CANCELLED, worker=1, loan=True)
        gone = replace(gone, started=NOW, finished=NOW + 9, leave_by=NOW + 30, needed_by="2")
        elastic, taker = here.daemon.store.task("1"), here.daemon.store.task("2")
        assert elastic is not None
        assert taker is not None
        elastic = replace(elastic, spec=replace(elastic.spec, elastic=Elastic(("/bin/worker",))))
        moved = HostMoveView(hosts=("h2",), giver="1", taker="2", time=NOW + 9)
        for state in (TaskState.RUNNING, TaskState.COMPLETED):
            begun = taker.with_status(state=state, started=NOW, finished=NOW + 60)
            here.daemon.store.commit(changed([elastic, begun], [gone]))
            for task in ("1", "2"):
                assert here.daemon.services.tasks.explain(me, task).host_moves == (moved,)
            assert 'h2: taken from <a href="/tasks/1">task 1</a>' in ann.see("/tasks/2")
            assert 'h2: given to <a href="/tasks/2">task 2</a>' in ann.see("/tasks/1")


def test_a_page_says_how_often_a_task_was_started_again_and_why(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, elastic = here.person("ann"), ElasticRequest(kind="restart")
        request = TaskRequest(command=("/bin/true",), profile=(None, 60.0), elastic=elastic)
        here.daemon.services.submissions.submit(Principal("ann", Role.USER), [request], "", "")
        assert "none yet; it may be asked to checkpoint" in ann.see("/tasks/1")
        task = here.daemon.store.task("1")
        assert task is not None
        record = RestartRecord(count=2, left=0.254, why="task <b>7</b> would be late without its hosts")
        here.daemon.store.commit(changed([task.with_status(restarts=record)], []))
        text = ann.see("/tasks/1")
        assert "2, the last with 25 % of its work left: task &lt;b&gt;7&lt;/b&gt; would be late" in text
        assert "<h2>Workers</h2>" not in text


def test_names_are_neither_templates_nor_elements(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit(name="{{7*7}}<script>x</script>")
        text = ann.see("/tasks/1")
        assert "{{7*7}}&lt;script&gt;x&lt;/script&gt;" in text
        assert "49" not in text.partition("<main")[2].partition("</h1>")[0]


def test_the_prediction_that_a_task_left_with_keeps_its_shape() -> None:
    stated = ProfileView(
        seconds=(8.0, None, 4.0), source="model", hardware="x", low=(4.0, None, 2.0), high=(16.0, None, 8.0)
    )
    left = _as_it_left(stated, 3, 6.0)
    assert (left.seconds, left.low, left.high) == ((12.0, None, 6.0), (6.0, None, 3.0), (24.0, None, 12.0))
    assert _as_it_left(stated, 2, 6.0) == _as_it_left(stated, 1, None) == stated


def kinds(life: object) -> list[str]:
    return [phase.kind for phase in life.phases]  # type: ignore[attr-defined]  # a Lifeline


def test_a_task_that_waits_will_wait_and_run() -> None:
    life = timeline(detail(deadline=NOW + 100), explained(NOW + 20, NOW + 50), NOW)
    assert kinds(life) == ["waited", "will wait", "will run"]
    assert life.now is not None
    assert life.deadline is not None


def test_a_task_that_has_ended_has_no_future() -> None:
    task = detail(dispatched=NOW - 50, started=NOW - 49, finished=NOW - 9, state="completed")
    life = timeline(task, explained(NOW - 49, NOW - 9), NOW)
    assert kinds(life) == ["waited", "handed over", "ran"]
    assert life.now is None


def test_a_task_that_was_cancelled_as_it_waited_only_waited() -> None:
    assert kinds(timeline(detail(finished=NOW - 50, state="cancelled"), explained(), NOW)) == ["waited"]


def test_a_deadline_far_away_does_not_squeeze_the_life() -> None:
    assert timeline(detail(deadline=NOW + 1e6), explained(NOW, NOW + 10), NOW).deadline is None


def test_the_range_of_the_end_is_drawn_where_it_fits() -> None:
    near = replace(explained(NOW + 20, NOW + 50), end_low=NOW + 45, end_high=NOW + 90)
    life = timeline(detail(), near, NOW)
    assert life.range is not None
    assert 0 < life.range[0] < life.range[1] <= TIMELINE_WIDTH
    assert life.last > NOW + 90
    far = timeline(detail(), replace(near, end_high=NOW + 1e6), NOW)
    assert far.last < NOW + 90  # the life is not squeezed: the whisker ends at the edge
    assert timeline(detail(finished=NOW, state="failed"), near, NOW).range is None


def test_a_failed_task_says_how_long_it_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said "Actual –" though it "ran 0.3 s", and called that its prediction."""
    with portal(tmp_path) as here:
        failed = detail(state="failed", reason="exit code 3", exit_code=3, started=NOW - 90, finished=NOW, attempts=1)
        monkeypatch.setattr(here.daemon.services.tasks, "task", lambda *_: failed)
        monkeypatch.setattr(here.daemon.services.tasks, "explain", lambda *_: explained(NOW - 90, NOW))
        page = here.person("ann").see("/tasks/7")
        assert "<dt>Actual</dt><dd>1 min 30 s<small>until it failed</small>" in page
        assert "<dt>Predicted</dt><dd>–" in page
        assert "<h2>Exit code 3</h2>" in page
        assert page.count("xit code 3") == 1


def test_a_task_elsewhere_is_there_until_the_end_that_is_expected_there() -> None:
    waiting = detail(state="forwarded", peer="far")
    assert kinds(timeline(waiting, explained(None, NOW + 50), NOW)) == ["waited", "in far"]
    running = detail(state="forwarded", peer="far", started=NOW - 9, hosts=("x",))
    life = timeline(running, explained(NOW - 9, NOW + 50), NOW)
    assert kinds(life) == ["waited", "ran", "will run"]
    assert [phase.end for phase in life.phases] == [NOW - 9, NOW, NOW + 50]


def test_a_task_elsewhere_shows_prediction_and_end_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page said "Predicted –, no model" and "Ends –" above the chart of the task's own model."""
    with portal(tmp_path) as here:
        ann, services, now = here.person("ann"), here.daemon.services, here.access.now()
        there = {"state": "forwarded", "peer": "far", "submitted": now - 100, "profile": profile((20.0, 10.0))}
        monkeypatch.setattr(services.tasks, "task", lambda *_: detail(**there, deadline=now + 99))
        monkeypatch.setattr(services.tasks, "explain", lambda *_: explained(None, now + 50))
        page = ann.see("/tasks/7?part=head")
        assert "as far expects" in page
        assert "told by far once it runs" in page
        assert "no model" not in page
        assert "As it would run here: " in ann.see("/tasks/7?part=curve")
        monkeypatch.setattr(services.tasks, "task", lambda *_: detail(**there, started=now - 10, hosts=("x",)))
        monkeypatch.setattr(services.tasks, "explain", lambda *_: explained(now - 10, now + 50))
        assert "<dt>Predicted</dt><dd>1 min</dd>" in ann.see("/tasks/7?part=head")


def test_a_failed_task_that_wrote_nothing_has_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a page was an internal error: there were no last lines to show."""
    with portal(tmp_path) as here:
        failed = detail(state="failed", reason="its host was lost", finished=NOW, attempts=1)
        monkeypatch.setattr(here.daemon.services.tasks, "task", lambda *_: failed)
        monkeypatch.setattr(here.daemon.services.tasks, "explain", lambda *_: explained())
        page = here.person("ann").see("/tasks/7")
        assert '<section id="failure"' in page
        assert "Its host was lost" in page
        assert "the last lines of its errors" not in page


@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=5), st.booleans())
def test_phases_stay_inside_and_in_order(gaps: list[float], over: bool) -> None:
    dispatched, started, end = NOW + gaps[0], NOW + gaps[0] + gaps[1], NOW + gaps[0] + gaps[1] + gaps[2]
    task = detail(
        submitted=NOW, dispatched=dispatched, started=started, finished=end if over else None, deadline=NOW + gaps[4]
    )
    life = timeline(task, explained(started, end + gaps[3]), end)
    assert all(
        0 <= phase.x <= TIMELINE_WIDTH and phase.x + phase.width <= TIMELINE_WIDTH + 1e-6 for phase in life.phases
    )
    assert [phase.start for phase in life.phases] == sorted(phase.start for phase in life.phases)


def test_a_waiting_task_is_changed_by_its_form(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit()
        assert 'action="/tasks/1/edit"' in ann.see("/tasks/1")
        given = {"hosts": "2 – 3", "priority": "-4", "name": "renamed", "deadline": "", "runtime": ""}
        assert ann.send("/tasks/1/edit", **given).headers["Location"] == "/tasks/1"
        page = ann.see("/tasks/1")
        assert "renamed" in page
        assert "<dt>Priority</dt><dd>-4</dd>" in page
        more = {"memory": "64M", "retries": "2", "time_limit": "5m", "requeue": "no", "best_effort": "yes"}
        assert ann.send("/tasks/1/edit", **more).headers["Location"] == "/tasks/1"
        page = ann.see("/tasks/1")
        assert "64 MiB of memory" in page
        assert "<dt>Retries</dt><dd>2</dd>" in page
        assert "as it is (no)" in page  # run again where a host is lost
        assert ann.send("/tasks/1/edit").status_code == 422
        assert ann.send("/tasks/1/edit", runtime="soon", hosts="1").status_code == 422
        assert here.person("bob").send("/tasks/1/edit", name="mine").status_code == 404
        ann.send("/tasks/1/cancel")
        assert ann.send("/tasks/1/edit", name="late").status_code == 409


def test_a_waiting_task_is_held_and_released(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit()
        assert "held by" not in ann.see("/tasks/1")
        assert ann.send("/tasks/1/hold").headers["Location"] == "/tasks/1"
        assert "held by <bdi>ann</bdi>" in ann.see("/tasks/1")
        assert here.person("bob").send("/tasks/1/release").status_code == 404
        assert ann.send("/tasks/1/release").headers["Location"] == "/tasks/1"
        assert "held by" not in ann.see("/tasks/1")


def test_a_late_task_says_what_would_save_it_and_does_so(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann = here.person("ann")
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", name="first", deadline=_soon(here, 10e3))
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", name="hurried", deadline=_soon(here, 15e3))
        late = ann.see("/tasks/2")
        assert 'If <a href="/tasks/1">task 1</a> (<bdi>first</bdi>) were held' in late
        assert ann.send("/tasks/1/hold?back=2").headers["Location"] == "/tasks/2"
        assert "What would save it" not in ann.see("/tasks/2")
        ann.send("/tasks/1/release")
        deadline = re.search(r'name="deadline" value="([^"]+)"', ann.see("/tasks/2"))
        assert deadline is not None
        ann.send("/tasks/2/edit", deadline=deadline[1])
        assert "What would save it" not in ann.see("/tasks/2")


def test_a_late_task_on_a_fixed_number_of_hosts_is_offered_another(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=2) as here:
        ann = here.person("ann")
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", hosts="2", deadline=_soon(here, 10e3))
        given = {"application": "halving", "p.work": "20000", "hosts": "1", "deadline": _soon(here, 24e3)}
        ann.submit(**given)
        assert "On 2 hosts it would end" in ann.see("/tasks/2")
        assert '<input type="hidden" name="hosts" value="2"><button>Give it 2 hosts</button>' in ann.see("/tasks/2")
        ann.send("/tasks/2/edit", hosts="2")
        assert "What would save it" not in ann.see("/tasks/2")
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", hosts="1", deadline=_soon(here, 27e3))
        late = ann.see("/tasks/3")  # its own figures say nothing of other hosts
        assert "What would save it" in late
        assert "hosts it would end" not in late


def test_what_helps_a_late_task_and_does_not_save_it_is_not_said_to(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann = here.person("ann")
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", name="first", deadline=_soon(here, 10e3))
        given = {"runtime": "18000", "name": "hurried", "deadline": _soon(here, 12e3), "best_effort": "on"}
        ann.submit(own="command", command="/bin/sleep 9", **given)
        page = ann.see("/tasks/2")
        saves, helps = page.index("<h3>What would save it</h3>"), page.index("<h3>What would help</h3>")
        assert saves < page.index("Take this deadline") < helps
        assert helps < page.index('If <a href="/tasks/1">task 1</a>')
        assert "after its deadline" in page[helps:]


def test_others_tasks_are_held_by_nobody_for_whom_they_are_in_the_way(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann, bob = here.person("ann"), here.person("bob")
        bob.submit(own="command", command="/bin/sleep 9", runtime="9000", name="bobs", deadline=_soon(here, 10e3))
        ann.submit(own="command", command="/bin/sleep 9", runtime="9000", name="mine", deadline=_soon(here, 15e3))
        page = ann.see("/tasks/2")
        assert "were held" in page
        assert "bobs" not in page
        assert "Hold task" not in page
        assert "Hold task 1" in here.person("chief", Role.OPERATOR).see("/tasks/2")


def _soon(here: Portal, seconds: float) -> str:
    """Return a deadline as the form has it; the test's client has said no zone, so it is the server's."""
    return datetime.fromtimestamp(here.daemon.clock.now() + seconds).isoformat(timespec="seconds")


def test_a_stage_shows_its_application_and_all_ways(tmp_path: Path) -> None:
    add_detection(tmp_path)
    with portal(tmp_path) as here:
        ann = here.person("ann")
        preview = ann.send("/submit/preview", application="detect", deadline="2030-01-31T18:00", **{"p.hosts": "1"})
        assert "before its deadline" in preview.text
        assert preview.text.count("granularity = ") == 2
        assert ann.submit(application="detect", settings="granularity=16", least_quality="0.5") == "/tasks"
        text = ann.see("/tasks/3")
        assert "Stage 3 of 3 of <bdi>detect</bdi>" in text
        assert '<a href="/tasks/1">1</a>' in text
        assert "granularity = 16" in text
        assert "granularity = 1<" not in text
        assert 'action="/tasks/3/hold"' not in text
        assert 'action="/tasks/3/edit"' not in text
        clone = ann.see("/submit?like=3")
        assert 'name="p.images"' in clone
        assert re.search('name="least_quality"[^>]*value="0.9"', clone)


@pytest.mark.parametrize("runs", ['[stages.sample]\ncommand = ["/opt/sample"]', 'worker = ["/opt/worker"]'])
def test_the_form_of_a_tunable_application_asks_for_nothing_that_its_model_says(tmp_path: Path, runs: str) -> None:
    add_detection(
        tmp_path, f'model = "{{model}}"\ncommand = ["/opt/detect"]\n{runs}\n[parameters.images]\ndefault = 1\n'
    )
    with portal(tmp_path) as here:
        form = here.person("ann").see("/submit?application=detect")
        asked = set(re.findall(r'<(?:input|textarea|select)[^>]* name="([^"]+)"', form))
        assert {"deadline", "after", "least_quality", "settings", "sweep"} <= asked
        assert not {"hosts", "runtime", "array", "worker", "restart", "processes"} & asked


def test_a_least_quality_that_is_no_number_is_refused_on_its_form(tmp_path: Path) -> None:
    add_detection(tmp_path)
    with portal(tmp_path) as here:
        answer = here.person("ann").send("/submit/preview", application="detect", least_quality="fine")
        assert "write a number, such as 0.9" in answer.text
