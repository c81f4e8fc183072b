from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role
from cosched.api.problems import NotFoundError
from cosched.coscheduler.task import Attempt, AttemptState, Task, TaskState
from cosched.errors import SystemFault, UserError
from cosched.prediction.profile import PredictionSource, Profile
from tests.daemon.makers import Daemon, daemon, insight_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.app.queries import DomainQueries

ANN, BOB, OLGA = Principal("ann", Role.USER), Principal("bob", Role.USER), Principal("olga", Role.OPERATOR)
NOW = 1_750_000_000.0


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Daemon]:
    with daemon(tmp_path) as made:
        yield made


@pytest.fixture
def insight(running: Daemon, tmp_path: Path) -> DomainQueries:
    return insight_of(running, tmp_path)


def ran(store: Daemon, number: int, owner: str, predicted: float, actual: float) -> None:
    task = Task(
        str(number),
        number,
        f"task {number}",
        "halving",
        ("/x",),
        NOW,
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
    store.store.save([task], [attempt])


def test_a_model_that_takes_long_takes_no_more_than_its_turn(
    insight: DomainQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.app.queries._LONG", -1.0)
    curves = insight.curves("jacobi_measured", {}, 2)
    assert curves.profiles == {}
    assert "took long: ask for fewer hosts" in curves.faults["sgi_origin2000"]


def test_time_that_another_process_takes_counts(insight: DomainQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 4))  # each look at the clock is four seconds later, none of them spent by this thread
    # Not the module's function: the engine's thread looks at that as well.
    monkeypatch.setattr("cosched.app.queries.time", SimpleNamespace(monotonic=lambda: float(next(now))))
    curves = insight.curves("jacobi_measured", {}, 2)
    assert len(curves.profiles) == 1
    assert any("took long" in fault for fault in curves.faults.values())


def test_models_are_evaluated_one_at_a_time(insight: DomainQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.app.queries._TURN", 0.01)
    with insight._evaluating, pytest.raises(SystemFault, match="try again in a moment"):
        insight.curves("jacobi_measured", {}, 2)
    with pytest.raises(UserError):
        insight.curves("jacobi", {"nothing": 1.0}, 2)
    assert insight.curves("jacobi_measured", {}, 2).profiles  # a fault gives the turn back


def test_what_has_run_is_told_without_the_names_of_others(running: Daemon, insight: DomainQueries) -> None:
    ran(running, 1, "ann", 10.0, 10.0)
    ran(running, 2, "bob", 10.0, 10.0)
    assert [(run.task, run.name, run.deadline) for run in insight.runs(ANN, NOW)] == [
        ("", "", None),
        ("1", "task 1", NOW + 5),
    ]
    assert [run.task for run in insight.runs(OLGA, NOW)] == ["2", "1"]
    assert [run.task for run in insight.runs(OLGA, NOW + 1)] == ["2"]


def test_accuracy_is_by_application_and_hardware(running: Daemon, insight: DomainQueries) -> None:
    for number, actual in enumerate((12.0, 10.0, 8.0), 1):
        ran(running, number, "ann", 10.0, actual)
    (found,) = insight.accuracy()
    assert (found.application, found.hardware, found.ratios) == ("halving", "fast", (1.2, 1.0, 0.8))
    assert (found.factor, found.runs) == (1.0, 0)  # this core has seen none of them


def test_models_are_read_and_evaluated(insight: DomainQueries) -> None:
    assert ("applications", "sweep3d_measured") in {(file.kind, file.name) for file in insight.models()}
    curves = insight.curves("jacobi_measured", {"Scale": 2.0}, 4)
    assert [parameter.name for parameter in curves.parameters] == ["Scale"]
    assert set(curves.profiles) | set(curves.faults) >= {"sgi_origin2000"}
    with pytest.raises(NotFoundError):
        insight.source("applications", "nothing")
    with pytest.raises(NotFoundError):
        insight.source("..", "x")


def test_followers_are_still_told_when_it_listens_too(running: Daemon, insight: DomainQueries) -> None:
    told: list[int] = []
    running.desk.feed.publish = lambda happenings: told.append(len(happenings))  # type: ignore[method-assign]
    task = Task("", 0, "t", "a", ("/x",), NOW, profile=Profile((5.0,), PredictionSource.USER))
    running.engine.accept([replace(task, owner="ann")]).result(10)
    running.engine.ask(lambda _core, _time: None).result(10)
    assert told
    assert len(insight.planned("1")) == 1
    assert insight.log(BOB, 10, 0)[-1].kind == "hosts observed"
    assert [line.kind for line in insight.log(ANN, 10, 0)] == ["submitted", "hosts observed"]
