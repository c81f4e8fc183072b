from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.handovers import Guest, GuestState, Handover, HandoverState, TaskDocument
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import Task, TaskState
from cosched.store import KeyedSubmission, LogEntry, Store
from cosched.store.credentials import AuditEntry, Credentials
from cosched.store.handovers import HandoverTable
from cosched.store.notice_outbox import NoticeOutbox
from cosched.store.plan_points import PlanPoints
from cosched.store.retention import Retention
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLD, NEW, BEFORE = 100.0, 900.0, 500.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(new_database(tmp_path))
    yield opened
    opened.close()


def task(number: int, finished: float | None = OLD, state: TaskState = TaskState.COMPLETED) -> Task:
    return make_task(number, name="n", submitted=1.0, state=state, finished=finished, notify=("https://h",))


def attempt(number: int, state: AttemptState = AttemptState.COMPLETED) -> Attempt:
    return Attempt(f"u{number}", str(number), (), 1, None, 1.0, state=state)


def left(store: Store) -> list[str]:
    return [each.id for each in store.tasks()][::-1]


def test_what_ended_long_ago_goes_with_all_that_belongs_to_it(store: Store) -> None:
    store.commit(
        changed(
            [task(1), task(2, NEW)],
            [attempt(1), attempt(2)],
            log=[LogEntry(OLD, "k", "1"), LogEntry(OLD, "k", "2"), LogEntry(OLD, "hosts"), LogEntry(NEW, "hosts")],
        )
    )
    assert sum(store.counts().values()) == 2
    PlanPoints(store).put({"1": [[OLD, OLD, OLD, 1]], "2": [[NEW, NEW, NEW, 1]]}, [])
    assert Retention(store, BEFORE).prune() == 1
    assert PlanPoints(store).of_several(["1", "2"]) == {"2": [[NEW, NEW, NEW, 1]]}
    assert (left(store), sum(store.counts().values())) == (["2"], 1)
    assert store.attempts("1") == ()
    assert [(line.task, line.time) for line in store.log()] == [("", NEW), ("2", OLD)]
    assert {notice.task for notice in NoticeOutbox(store).due(1e9, 9)} == {"2"}


def test_what_has_something_left_to_do_stays(store: Store) -> None:
    queued = replace(task(1, None, TaskState.QUEUED), submitted=OLD)
    store.commit(changed([queued, task(2), task(3, NEW)], [attempt(2, AttemptState.CANCELLING)]))
    assert Retention(store, BEFORE).prune() == 0
    assert left(store) == ["1", "2", "3"]


def a_handover(number: int, state: HandoverState) -> Handover:
    return Handover(f"u{number}", 1, str(number), "b", state, "why", OLD)


def a_guest(number: int, state: GuestState) -> Guest:
    document = TaskDocument("t", "t", "ann", 60.0, seconds=(1.0,))
    return Guest(f"u{number}", 1, "b", str(number), state, 3, ("b",), document, OLD)


def test_what_is_over_with_a_neighbour_goes_and_what_may_still_be_asked_for_stays(store: Store) -> None:
    given = [a_handover(1, HandoverState.ENDED), a_handover(2, HandoverState.GRANTED)]
    taken = [a_guest(3, GuestState.SETTLED), a_guest(4, GuestState.ENDED)]
    store.commit(changed([task(number) for number in range(1, 6)], handovers=given, guests=taken))
    assert Retention(store, BEFORE).prune() == 2
    assert left(store) == ["2", "4", "5"]
    exchange = HandoverTable(store)
    assert [len(exchange.handovers(name)) for name in ("1", "2")] == [0, 1]
    assert [exchange.guest("b", name) is None for name in ("u3", "u4")] == [True, False]


def test_reservations_are_forgotten_when_they_are_long_over(store: Store) -> None:
    store.commit(changed(reservations=[Reservation("old", ("h1",), 1.0, OLD), Reservation("new", ("h1",), 1.0, NEW)]))
    Retention(store, BEFORE).prune()
    assert [each.id for each in store.reservations(0.0)] == ["new"]


def test_no_number_is_given_twice(store: Store) -> None:
    store.commit(changed([task(1), task(2)]))
    assert Retention(store, BEFORE).prune() == 1
    assert (left(store), store.last_number()) == (["2"], 2)


def test_a_key_stays_as_long_as_one_of_its_tasks(store: Store) -> None:
    store.commit(
        changed(
            [task(1), task(2, NEW), task(3, NEW)],
            submissions=[
                KeyedSubmission("gone", "d", ("1",), OLD),
                KeyedSubmission("half", "d", ("1", "2"), OLD, "ann"),
                KeyedSubmission("kept", "d", ("3",), NEW),
            ],
        )
    )
    Retention(store, BEFORE).prune()
    assert store.by_key("gone") is None
    assert store.by_key("half", "ann") is not None
    assert store.by_key("kept") is not None
    Retention(store, NEW + 1).prune()
    assert store.by_key("half", "ann") is None  # task 2 went, too
    assert store.by_key("kept") is not None  # the newest stays, and its key


def test_a_part_at_a_time_the_oldest_first(store: Store) -> None:
    store.commit(changed([task(number, OLD + number) for number in range(1, 6)] + [task(6, NEW)]))
    assert Retention(store, BEFORE).prune(limit=2) == 2
    assert left(store) == ["3", "4", "5", "6"]


def test_the_audit_log_is_as_old_as_the_rest(store: Store) -> None:
    kept = Credentials(store)
    for time in (OLD, NEW):
        kept.log(AuditEntry(time, "ann", "token", "", "login", ""))
    Retention(store, BEFORE).prune()
    assert [deed.time for deed in kept.audit_log(9)] == [NEW]
