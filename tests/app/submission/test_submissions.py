from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.api.problems import ConflictError, QuotaError
from cosched.connector.hosts import Host
from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.events import HostsObserved
from cosched.coscheduler.task import TaskState
from cosched.errors import SystemFault, UserError
from cosched.store import TaskSelection
from tests.daemon.makers import Daemon, daemon
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from cosched.api.documents import TaskView

ME = Principal("me", Role.USER)
YOU = Principal("you", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)
HALVING = TaskRequest(application="halving")


def test_tasks_are_numbered_and_durable_on_return(here: Daemon) -> None:
    made = here.services.submissions.submit(ME, [HALVING, HALVING], "", "")
    assert [task.id for task in made] == ["1", "2"]
    stored = here.store.task("2")
    assert stored is not None
    assert stored.status.state is TaskState.QUEUED


def test_a_deadline_that_nothing_plans_towards_is_told(here: Daemon) -> None:
    request = TaskRequest(command=("/bin/true",), deadline="now+1h")
    known, unknown = here.services.submissions.submit(ME, [replace(request, profile=(1.0,)), request], "", "")
    assert known.notice == ""
    assert "nothing plans towards its deadline" in unknown.notice


def test_of_several_tasks_all_or_none_are_accepted(here: Daemon) -> None:
    with pytest.raises(UserError, match=r"task 2 of 2: no application 'nothing'.*; none was accepted"):
        here.services.submissions.submit(ME, [HALVING, TaskRequest(application="nothing")], "", "")
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 0


def test_two_tasks_of_an_array_with_one_index_are_refused(here: Daemon) -> None:
    """Regression: both were accepted, and "1_3" named either of them."""
    requests = [replace(HALVING, array_index=index) for index in (2, 3, 3)]
    with pytest.raises(UserError, match="task 3 of 3: another task of its array has the index 3, too: give each its"):
        here.services.submissions.submit(ME, requests, "", "")
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 0


def test_what_the_resource_manager_would_never_start_is_refused_at_submission(tmp_path: Path) -> None:
    """Before, such a task was accepted, and failed when its turn came."""
    asked: list[tuple[str, LaunchMode]] = []

    def check_task(owner: str, launch: LaunchMode) -> None:
        asked.append((owner, launch))
        if launch.once:
            raise UserError("it would find no other host: launch it on each")

    once = TaskRequest(command=("/bin/true",), launch=LaunchMode.ONCE)
    with daemon(tmp_path, check_task=check_task) as here:
        submissions = here.services.submissions
        assert len(submissions.submit(ME, [HALVING] * 3, "", "")) == 3
        assert asked == [("me", LaunchMode.EACH)]  # once for all that are launched alike
        with pytest.raises(UserError, match="no other host: launch it on each"):
            submissions.submit(YOU, [once], "", "")
        assert asked[1:] == [("you", LaunchMode.ONCE)]
        with pytest.raises(UserError, match=r"task 2 of 2: it would find no other host: .*; none was accepted"):
            submissions.foresee(ME, [HALVING, once])
        assert submissions.adopt(ME, lambda: once, "7.0").owner == "me"  # the manager has its job already
        assert here.services.tasks.tasks(CHIEF, TaskSelection(), 10, 0).total == 4


def test_a_key_used_again_returns_the_same_tasks(here: Daemon) -> None:
    first = here.services.submissions.submit(ME, [HALVING], "key", "digest")
    assert here.services.submissions.submit(ME, [HALVING], "key", "digest") == first
    with pytest.raises(ConflictError, match="'key' was used for another request"):
        here.services.submissions.submit(ME, [HALVING], "key", "other")
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 1


def test_a_key_used_many_times_at_once_makes_one_task(here: Daemon) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: here.services.submissions.submit(ME, [HALVING], "key", "digest"), range(16)))
    assert {answer[0].id for answer in answers} == {"1"}
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 1


def test_a_users_key_is_none_of_a_job_that_is_adopted(here: Daemon) -> None:
    """Both came in at once, under one key: the database refused that for good, and the daemon ended."""
    gate = threading.Event()
    here.inbox.ask(lambda _core, _time: gate.wait(60))
    with ThreadPoolExecutor(2) as pool:
        adopted = pool.submit(here.services.submissions.adopt, ME, lambda: HALVING, "7.0")
        own = pool.submit(here.services.submissions.submit, ME, [HALVING], "adopt:7.0", "digest")
        until(lambda: own.done() or not here.inbox.empty())
        time.sleep(0.2)
        gate.set()
        assert adopted.result(60).id == "1"
        assert "begin with 'adopt:' are cosched's own" in str(own.exception(60))
    assert here.engine.failed is None


def test_a_submission_that_is_not_answered_in_time_is_taken_back(tmp_path: Path) -> None:
    with daemon(tmp_path, patience=0.3) as here:
        gate = threading.Event()
        here.inbox.ask(lambda _core, _time: gate.wait(60))
        with pytest.raises(SystemFault, match="try again; nothing was done"):
            here.services.submissions.submit(ME, [HALVING], "key", "digest")
        gate.set()
        assert [task.id for task in submitted_at_last(here, "key")] == ["1"]


def test_a_submission_that_may_yet_be_done_is_said_to_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with daemon(tmp_path, patience=0.3) as here:
        monkeypatch.setattr(here.inbox, "accept", begun(here.inbox.accept))
        with closing(sqlite3.connect(tmp_path / "cosched.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(SystemFault, match="look before you try again, or use the same key"):
                here.services.submissions.submit(ME, [HALVING], "key", "digest")
        assert [task.id for task in submitted_at_last(here, "key")] == ["1"]
        assert here.store.task("2") is None


def submitted_at_last(here: Daemon, key: str) -> list[TaskView]:
    """Submit with the same key until the engine answers in time."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(SystemFault):
            return list(here.services.submissions.submit(ME, [HALVING], key, "digest"))
    raise AssertionError("it is never answered")


def begun(accept: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    """Have a submission given to the engine and taken up by it, however long that takes."""

    def accepted(*arguments: Any) -> Future[Any]:
        answer = accept(*arguments)
        until(answer.running)
        return answer

    return accepted


def test_a_dry_run_of_many_tasks_is_refused(here: Daemon) -> None:
    assert len(here.services.submissions.foresee(ME, [HALVING] * 100)) == 100
    with pytest.raises(UserError, match="at most 100 tasks, not 101"):
        here.services.submissions.foresee(ME, [HALVING] * 101)


def test_a_dry_run_of_many_elastic_tasks_shows_both_ends_of_the_first_ones(here: Daemon) -> None:
    worker = ElasticRequest(worker=("/bin/true",))
    elastic = TaskRequest(command=("/bin/true",), hosts="1-2", profile=(20.0, 10.0), elastic=worker)
    found = here.services.submissions.foresee(ME, [HALVING, *[elastic] * 7, HALVING])
    assert [bool(each.promises) for each in found] == [False, *[True] * 5, False, False, False]
    assert all(each.planned_end is not None for each in found)
    assert all(row.expected_end is not None for each in found for row in each.promises)


def test_a_task_that_checkpoints_is_lent_no_hosts_and_has_no_expected_end(here: Daemon) -> None:
    checkpoints = ElasticRequest(kind="restart")
    task = TaskRequest(command=("/bin/true",), hosts="1-2", profile=(20.0, 10.0), elastic=checkpoints)
    (found,) = here.services.submissions.foresee(ME, [task])
    assert [row.hosts for row in found.promises] == [1, 2]
    assert {row.expected_end for row in found.promises} == {None}


def test_a_dry_run_that_nobody_waits_for_ends_between_tasks(here: Daemon) -> None:
    left = iter(range(3))

    def check() -> None:
        if next(left, None) is None:
            raise SystemFault("gone")

    with pytest.raises(SystemFault, match="gone"):
        here.services.submissions.foresee(ME, [HALVING] * 100, check)


def test_a_forecast_stores_nothing(here: Daemon) -> None:
    (forecast,) = here.services.submissions.foresee(ME, [HALVING])
    assert forecast.planned_start is not None
    assert forecast.planned_end == pytest.approx(forecast.planned_start + 10.0)
    assert len(forecast.planned_hosts) == 8
    assert forecast.meets_deadline is None
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 0


def test_a_forecast_reckons_with_the_queue_and_the_deadline(here: Daemon) -> None:
    here.services.submissions.submit(
        ME, [TaskRequest(application="halving", parameters={"work": 800}, hosts=8)] * 4, "", ""
    )
    now = here.clock.now()
    (relaxed,) = here.services.submissions.foresee(ME, [HALVING])
    (urgent,) = here.services.submissions.foresee(ME, [TaskRequest(application="halving", deadline=now + 60)])
    assert relaxed.planned_start is not None
    assert relaxed.planned_start > now + 150  # behind four tasks of 100 s on half of the hosts
    assert urgent.meets_deadline
    assert urgent.planned_start is not None
    assert now <= urgent.planned_start <= here.clock.now()


def test_models_wait_until_the_hosts_are_known(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=0) as here:
        with pytest.raises(SystemFault, match="has not said yet which hosts there are"):
            here.services.submissions.submit(ME, [HALVING], "", "")
        (forecast,) = here.services.submissions.foresee(ME, [TaskRequest(command=("/bin/true",), profile=(3.0,))])
        assert (forecast.planned_start, forecast.meets_deadline) == (None, None)


def test_hosts_of_one_class_decide_what_is_predicted(here: Daemon) -> None:
    hosts = tuple(Host(f"s{number}", host_class="slow") for number in range(4))
    here.inbox.apply(HostsObserved(here.clock.now(), hosts)).result(60)
    (forecast,) = here.services.submissions.foresee(ME, [HALVING])
    assert forecast.profile is not None
    assert forecast.profile.seconds == (160.0, 80.0, 160 / 3, 40.0)
    assert forecast.profile.hardware == "slow"


def test_two_users_may_choose_the_same_key(here: Daemon) -> None:
    mine, yours = (here.services.submissions.submit(principal, [HALVING], "key", "digest") for principal in (ME, YOU))
    assert (mine[0].id, yours[0].id) == ("1", "2")
    assert here.services.submissions.submit(ME, [HALVING], "key", "digest") == mine


def test_followers_hear_of_what_is_on_disk(here: Daemon) -> None:
    async def follow() -> list[tuple[str, str | None, str]]:
        with here.services.feed.follow("me") as follower:
            follower.take()
            await asyncio.to_thread(here.services.submissions.submit, ME, [HALVING], "", "")
            assert await follower.wait(60)
            return [(each.kind, each.owner, each.document().id) for each in follower.take()[0]]

    assert asyncio.run(follow()) == [("task", "me", "1")]


def test_a_user_has_a_quota_of_live_tasks_and_operators_have_none(tmp_path: Path) -> None:
    with daemon(tmp_path, waiting=2) as here:
        here.services.submissions.submit(ME, [HALVING], "", "")
        with pytest.raises(QuotaError, match="1 tasks of yours wait or run, and 2 may: submit 2 more when some have"):
            here.services.submissions.submit(ME, [HALVING, HALVING], "", "")
        here.services.submissions.submit(ME, [HALVING], "key", "digest")
        assert (
            here.services.submissions.submit(ME, [HALVING], "key", "digest")[0].id == "2"
        )  # known already: not one more
        here.services.submissions.submit(YOU, [HALVING], "", "")
        here.services.submissions.submit(CHIEF, [HALVING] * 3, "", "")
        here.services.tasks.cancel(ME, "1")
        assert here.services.submissions.submit(ME, [HALVING], "", "")[0].id == "7"


def test_many_submissions_at_once_do_not_exceed_the_quota(tmp_path: Path) -> None:
    def outcome(here: Daemon) -> str:
        try:
            return here.services.submissions.submit(ME, [HALVING], "", "")[0].id
        except QuotaError:
            return "refused"

    with daemon(tmp_path, waiting=3) as here, ThreadPoolExecutor(12) as pool:
        gate = threading.Event()
        here.inbox.ask(lambda _core, _time: gate.wait(60))
        answers = [pool.submit(outcome, here) for _ in range(12)]
        gate.set()
        assert sorted(answer.result(60) for answer in answers) == ["1", "2", "3", *["refused"] * 9]


def test_a_user_has_a_quota_of_bytes_and_operators_have_none(tmp_path: Path) -> None:
    large = TaskRequest(application="halving", environment={"A": "x" * 600})
    with daemon(tmp_path, waiting_bytes=2000) as here:
        submissions = here.services.submissions
        submissions.submit(ME, [large, large], "", "")
        with pytest.raises(QuotaError, match=r"have 1\d{3} bytes of text, these would add \d{4}, and 2000 may be"):
            submissions.submit(ME, [large, large], "", "")
        submissions.submit(YOU, [large], "", "")
        submissions.submit(CHIEF, [large] * 5, "", "")
        here.services.tasks.cancel(ME, "1")
        assert submissions.submit(ME, [large], "", "")[0].owner == "me"


def after(*names: str) -> TaskRequest:
    return TaskRequest(application="halving", after=names)


def test_a_task_comes_after_others_also_over_a_restart(tmp_path: Path) -> None:
    with daemon(tmp_path) as here:
        (first, _) = here.services.submissions.submit(ME, [HALVING, HALVING], "", "")
        (second,) = here.services.submissions.submit(ME, [after("1", "1")], "", "")
        (third,) = here.services.submissions.submit(ME, [after(second.id)], "", "")
        assert here.services.tasks.task(ME, second.id).after == ("1",)
        waits = here.services.tasks.explain(ME, second.id).waits_for
        assert waits[0] == "task 1 (halving, queued), which it comes after"
    with daemon(tmp_path) as here:
        here.services.tasks.cancel(ME, first.id)
        ended = [here.services.tasks.task(ME, each.id) for each in (second, third)]
        assert [(task.state, task.reason) for task in ended] == [
            ("cancelled", "task 1, which it was to come after, was cancelled"),
            ("cancelled", f"task {second.id}, which it was to come after, was cancelled"),
        ]


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("1", "there is no task '1' to come after"),  # another user's
        ("9", "there is no task '9' to come after: `cosched task list` shows what there is"),
        ("2", "task 2 was cancelled: what comes after it would never start; submit that one again first"),
    ],
)
def test_what_nobody_could_come_after_is_refused(here: Daemon, name: str, refusal: str) -> None:
    here.services.submissions.submit(YOU, [HALVING], "", "")
    here.services.submissions.submit(ME, [HALVING], "", "")
    here.services.tasks.cancel(ME, "2")
    with pytest.raises(UserError, match=refusal):
        here.services.submissions.submit(ME, [HALVING, after(name)], "", "")
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 1
    with pytest.raises(UserError, match="comes after 101 others: at most 100"):
        here.services.submissions.submit(ME, [after(*map(str, range(101)))], "", "")


def test_a_task_whose_predecessor_fails_while_it_is_submitted_is_refused(
    here: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    looked: list[object] = []

    def look(*given: object) -> None:
        looked.append(given)
        here.services.tasks.cancel(ME, "1")

    monkeypatch.setattr("cosched.app.submission.submissions.check_predecessors", look)
    with pytest.raises(UserError, match="task 1 was cancelled: what comes after it would never start"):
        here.services.submissions.submit(ME, [after("1")], "key", "digest")
    assert len(looked) == 1
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 1
