from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import EditRequested, HostsObserved, TaskSubmitted
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.what_if import predict_placement
from tests.coscheduler.makers import a_task, complete, dispatched, hosts, restore, settings, start
from tests.coscheduler.places.test_any_weather import SharedHosts
from tests.coscheduler.test_any_weather import AnyWeather
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.task import Task


def asking(number: int, licences: Mapping[str, int], seconds: Sequence[float] | None = (10.0,), **changes: Any) -> Task:
    task = a_task(number, seconds, **changes)
    return replace(task, spec=replace(task.spec, licences=dict(licences)))


def submit(core: Coscheduler, *tasks: Task, time: float = 0.0) -> list[str]:
    """Submit tasks; return those that left."""
    return [name for task in tasks for name in left(core.handle(TaskSubmitted(time, task)))]


def left(outcome: Outcome) -> list[str]:
    return [attempt.task for attempt in dispatched(outcome)]


def started(core: Coscheduler, task: str, time: float) -> None:
    attempt = core.attempt_of(task)
    assert attempt is not None
    start(core, attempt, time)


def ended(core: Coscheduler, task: str, time: float) -> Outcome:
    attempt = core.attempt_of(task)
    assert attempt is not None
    return complete(core, attempt, 0.0, time)


@pytest.mark.parametrize("shared", [False, True])
def test_no_more_tasks_run_than_there_are_licences(shared: bool) -> None:
    core = a_domain(shared=shared, licences={"matlab": 2})
    assert submit(core, *[asking(number, {"matlab": 1}) for number in (1, 2, 3)], a_task(4, (10.0,))) == ["1", "2", "4"]
    assert core.licences.in_use["matlab"] == 2
    assert left(ended(core, "1", 9.0)) == ["3"]


def a_domain(*, shared: bool = False, **changes: Any) -> Coscheduler:
    core = Coscheduler(settings(share_hosts=shared, **changes))
    core.handle(HostsObserved(0.0, tuple(replace(host, cores=8) for host in hosts(4))))
    return core


@pytest.mark.parametrize("shared", [False, True])
def test_a_gap_is_filled_only_by_who_gives_the_licence_back_in_time(shared: bool) -> None:
    core = a_domain(shared=shared, licences={"matlab": 2})
    assert submit(core, asking(1, {"matlab": 1})) == ["1"]
    started(core, "1", 0.0)
    assert submit(core, asking(2, {"matlab": 2})) == []
    assert submit(core, asking(3, {"matlab": 1}, (20.0,))) == []  # it would keep the second from starting at 10 s
    assert submit(core, asking(4, {"matlab": 1}, (5.0,))) == ["4"]
    started(core, "4", 0.0)
    assert left(ended(core, "4", 5.0)) == []
    assert left(ended(core, "1", 10.0)) == ["2"]


@pytest.mark.parametrize("shared", [False, True])
def test_a_task_without_a_prediction_waits_for_its_licence_and_is_not_passed_for_ever(shared: bool) -> None:
    core = a_domain(shared=shared, licences={"matlab": 2})
    assert submit(core, asking(1, {"matlab": 1}), asking(2, {"matlab": 2}, None)) == ["1"]
    assert submit(core, asking(3, {"matlab": 1}, (1.0,)), asking(4, {"matlab": 1}, None), a_task(5, None)) == ["5"]
    assert left(ended(core, "1", 10.0)) == ["2"]
    assert sorted(left(ended(core, "2", 20.0))) == ["3", "4"]


def test_nothing_is_kept_for_a_task_that_asks_for_more_than_there_are() -> None:
    core = a_domain(licences={"matlab": 1})
    assert submit(core, asking(1, {"matlab": 2}, None), asking(2, {"matlab": 1}, None), asking(3, {"matlab": 1})) == [
        "2"
    ]
    assert left(ended(core, "2", 5.0)) == ["3"]


def test_what_runs_is_counted_after_a_restart() -> None:
    core = a_domain(licences={"matlab": 1})
    submit(core, asking(1, {"matlab": 1}), asking(2, {"matlab": 1}))
    tasks, attempts = tuple(core.tasks.values()), tuple(core.attempts.values())
    again = a_domain(licences={"matlab": 1})
    assert left(restore(again, 1.0, tasks=tasks, attempts=attempts)) == []
    assert again.licences.in_use["matlab"] == 1
    copy = Coscheduler.from_snapshot(core.settings, core.snapshot())
    assert copy.licences.in_use == core.licences.in_use


def test_a_task_that_asks_for_more_than_there_are_waits_and_says_so() -> None:
    core = a_domain(licences={"matlab": 1})
    submit(core, asking(1, {"matlab": 1}), asking(2, {"matlab": 2}), asking(3, {"ansys": 1}, None))
    ended(core, "1", 1.0)
    for name, what in (
        ("2", "2 of matlab, and this domain has 1 of it"),
        ("3", "1 of ansys, and this domain has none"),
    ):
        said = explain(core, name, 2.0)
        assert said is not None
        assert said.waits_for == (f"it asks for {what}: change it, or ask an administrator for more ([licences])",)
    assert left(core.handle(EditRequested(3.0, "2", TaskEdit(licences={"matlab": 1}), "ann"))) == ["2"]


def test_explain_names_who_has_the_licences_and_until_when() -> None:
    core = a_domain(licences={"matlab": 3})
    submit(core, asking(1, {"matlab": 2}), asking(2, {"matlab": 2}), asking(3, {"matlab": 2}))
    started(core, "1", 0.0)
    said = explain(core, "2", 4.0)
    assert said is not None
    assert said.waits_for[0] == "2 of matlab: 2 of 3 are in use by 1 (t1, running); as many are free in 6.0 s"
    assert said.planned_start == pytest.approx(10.0)
    behind = explain(core, "3", 4.0)
    assert behind is not None
    assert "planned before it with licences that it needs, too: 2 (t2, queued)" in behind.waits_for


def test_a_new_task_is_promised_a_place_when_its_licence_is_free() -> None:
    core = a_domain(licences={"matlab": 1})
    submit(core, asking(1, {"matlab": 1}), asking(2, {"matlab": 1}, (7.0,)))
    placed = predict_placement(core, asking(3, {"matlab": 1}, (2.0,)), 0.0)
    assert placed is not None
    assert placed.start == pytest.approx(17.0)
    booked = predict_placement(core, asking(4, {"matlab": 1}), 0.0, [asking(3, {"matlab": 1}, (2.0,))])
    assert booked is not None
    assert booked.start == pytest.approx(19.0)
    assert predict_placement(core, asking(3, {"matlab": 2}), 0.0) is None


def test_a_task_with_licences_stays_in_its_domain() -> None:
    assert asking(1, {"matlab": 1}).spec.stays
    assert not a_task(1).spec.stays


class Licensed(AnyWeather):
    """Tasks hold licences of the domain; no weather has more in use than there are."""

    licences: ClassVar[dict[str, int]] = {"matlab": 2, "ansys": 1}

    @rule(
        asked=st.dictionaries(st.sampled_from(["matlab", "ansys"]), st.integers(1, 2), min_size=1),
        seconds=st.none() | st.lists(st.sampled_from([1.0, 3.0, 9.0]), min_size=1, max_size=3),
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
    )
    def submit_with_licences(
        self, asked: dict[str, int], seconds: list[float] | None, due: float | None, owner: str
    ) -> None:
        self.accepted += 1
        deadline = None if due is None else self.time + due
        task = asking(self.accepted, asked, seconds, submitted=self.time, deadline=deadline, owner=owner)
        self.tell(TaskSubmitted(self.later(), task))

    @invariant()
    def no_more_licences_are_in_use_than_there_are(self) -> None:
        used: Counter[str] = Counter()
        for attempt in self.core.attempts.values():
            if not attempt.worker:  # its lead holds them
                used.update(self.core.tasks[attempt.task].spec.licences)
        assert all(used[name] <= total for name, total in self.licences.items())
        assert +self.core.licences.in_use == used


class _LicensedOnSharedHosts(Licensed, SharedHosts):
    """The same where tasks share hosts."""


Licensed.TestCase.settings = hypothesis_settings(max_examples=examples(8), stateful_step_count=40, deadline=None)
TestLicensed = Licensed.TestCase
_LicensedOnSharedHosts.TestCase.settings = hypothesis_settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None
)
TestLicensedOnSharedHosts = _LicensedOnSharedHosts.TestCase
