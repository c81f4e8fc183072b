from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role
from cosched.app.history import HostUse
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.events import SharesChanged
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.task import TaskState
from cosched.prediction.profile import PredictionSource, Profile
from tests.changes import changed
from tests.coscheduler.makers import restore
from tests.daemon.makers import Daemon, daemon
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.app.history import DomainHistory

ANN, BOB, OLGA = Principal("ann", Role.USER), Principal("bob", Role.USER), Principal("olga", Role.OPERATOR)
NOW = 1_750_000_000.0


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Daemon]:
    with daemon(tmp_path) as made:
        yield made


@pytest.fixture
def history(running: Daemon) -> DomainHistory:
    return running.services.history


def ran(store: Daemon, number: int, owner: str, predicted: float, actual: float) -> None:
    task = make_task(
        number,
        name=f"task {number}",
        application="halving",
        submitted=NOW,
        owner=owner,
        predicted=predicted,
        actual=actual,
        profile=Profile((predicted,), PredictionSource.MODEL, "fast"),
        correction="halving/fast",
        state=TaskState.COMPLETED,
        finished=NOW + number,
        started=NOW,
        hosts=("h01",),
        deadline=NOW + 5,
    )
    attempt = Attempt(
        f"u{number}", task.id, ("h01",), 1, predicted, NOW, AttemptState.COMPLETED, started=NOW, finished=NOW + number
    )
    store.store.commit(changed([task], [attempt]))


def test_what_has_run_is_told_without_the_names_of_others(running: Daemon, history: DomainHistory) -> None:
    ran(running, 1, "ann", 10.0, 10.0)
    ran(running, 2, "bob", 10.0, 10.0)
    assert [(run.task, run.name, run.deadline) for run in history.runs(ANN, NOW)] == [
        ("", "", None),
        ("1", "task 1", NOW + 5),
    ]
    assert [run.task for run in history.runs(OLGA, NOW)] == ["2", "1"]
    assert [run.task for run in history.runs(OLGA, NOW + 1)] == ["2"]


def test_accuracy_is_by_application_and_hardware(running: Daemon, history: DomainHistory) -> None:
    for number, actual in enumerate((12.0, 10.0, 8.0), 1):
        ran(running, number, "ann", 10.0, actual)
    (found,) = history.accuracy()
    assert (found.application, found.hardware, found.ratios) == ("halving", "fast", (1.2, 1.0, 0.8))
    assert (found.factor, found.runs) == (1.0, 0)  # this core has seen none of them


def test_accuracy_tells_what_others_beside_an_application_cost_it(running: Daemon, history: DomainHistory) -> None:
    for number, beside in enumerate((0.0,) * 5 + (1.0,) * 5, 1):
        ran(running, number, "ann", 10.0, 12.5 if beside else 10.0)
        task = running.store.task(str(number))
        assert task is not None
        running.store.commit(changed([task.with_status(beside=beside)]))
    completed = running.store.completed()
    assert [task.status.beside for task in completed] == [0.0] * 5 + [1.0] * 5
    running.inbox.ask(lambda core, time: restore(core, time, completed=completed)).result(60)
    (found,) = history.accuracy()
    assert found.contention == pytest.approx(0.25)
    assert found.contention_runs == 10
    assert found.factor == pytest.approx(1.0)


def test_plans_and_log_follow_a_new_task(running: Daemon, history: DomainHistory) -> None:
    told: list[int] = []
    running.engine.subscribe(lambda _tasks, events: told.append(len(events)))
    task = make_task(0, id="", submitted=NOW, profile=Profile((5.0,), PredictionSource.USER))
    running.inbox.accept([replace(task, owner="ann")]).result(60)
    running.inbox.ask(lambda _core, _time: None).result(60)
    assert told
    assert len(history.planned("1")) == 1
    assert history.log(BOB, 10, 0)[-1].kind == "hosts observed"
    assert [line.kind for line in history.log(ANN, 10, 0)] == ["submitted", "hosts observed"]


def test_usage_counts_the_hosts_of_each_user_for_as_long_as_they_had_them(
    running: Daemon, history: DomainHistory
) -> None:
    ran(running, 1, "ann", 10.0, 10.0)  # each on one host, for as many seconds as its number, due after five
    ran(running, 4, "bob", 10.0, 10.0)
    ran(running, 8, "ann", 10.0, 10.0)
    task = make_task(9, name="two hosts", owner="bob", state=TaskState.RUNNING, started=NOW)
    live = Attempt("u9", "9", ("h01", "h02"), 2, None, NOW, AttemptState.RUNNING, started=NOW)
    running.store.commit(changed([task], [live]))
    rows = {row["name"]: row for row in running.store.usage("owner", NOW, NOW + 10)}
    assert (rows["bob"]["tasks"], rows["bob"]["runs"], rows["bob"]["host_seconds"]) == (2, 2, 4 + 2 * 10)
    assert rows["ann"] == {"name": "ann", "tasks": 2, "runs": 2, "host_seconds": 9, "on_time": 1, "late": 1}
    assert [row["name"] for row in running.store.usage("owner", NOW, NOW + 10)] == ["bob", "ann"]
    later = {row["name"]: row["host_seconds"] for row in running.store.usage("owner", NOW + 6, NOW + 10)}
    assert later == {"bob": 2 * 4, "ann": 2}  # what was before does not count
    assert [entry.name for entry in history.usage(ANN, "user", NOW)] == ["ann"]
    assert {entry.name for entry in history.usage(OLGA, "user", NOW)} == {"ann", "bob"}
    assert [entry.tasks for entry in history.usage(ANN, "application", NOW)] == [2]
    assert [(entry.name, entry.tasks) for entry in history.usage(OLGA, "group", NOW)] == [("", 4)]
    tree = Shares(groups={"physics": Share()}, members={"ann": "physics"})
    running.inbox.apply(SharesChanged(1.0, tree)).result(60)
    assert {entry.name: entry.tasks for entry in history.usage(OLGA, "group", NOW)} == {"physics": 2, "": 2}


def test_what_attempts_took_of_their_hosts_is_told_and_others_have_no_names(
    running: Daemon, history: DomainHistory
) -> None:
    attempt = Attempt("a", "1", ("h01",), 1, None, NOW, AttemptState.COMPLETED, started=NOW, finished=NOW + 5)
    part = replace(attempt, uuid="b", finished=NOW + 9, memory=2048, cores=4, gpus=1)
    running.store.commit(changed([make_task(1, owner="ann")], [attempt, part]))
    assert history.uses(ANN, NOW) == [
        HostUse("ann", ("h01",), NOW, NOW + 9, 4, 2048, 1),
        HostUse("ann", ("h01",), NOW, NOW + 5, 0, 0, 0),
    ]
    assert [use.owner for use in history.uses(BOB, NOW + 6)] == [""]
