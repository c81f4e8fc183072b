from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.handovers import (
    DocumentParameter,
    Guest,
    GuestState,
    Handover,
    HandoverState,
    ModelBundle,
    ModelBundleFile,
    TaskDocument,
)
from cosched.coscheduler.task import TaskState
from cosched.store import Store
from cosched.store.handovers import HandoverTable
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from pathlib import Path

UUID = "6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11"
TASK = make_task(1, application="app", submitted=5.0, state=TaskState.FORWARDED, peer="b")
HANDOVER = Handover(UUID, 1, "1", "b", HandoverState.COMMITTING, "b is faster", 5.0)
DOCUMENT = TaskDocument(
    "t",
    "app",
    "ann",
    60.0,
    model=ModelBundle("m", (ModelBundleFile("m.psl", "a < b\n"),)),
    parameters=(DocumentParameter("n", "5.0", number=True, entry=5.0),),
)
GUEST = Guest(UUID, 2, "c", "1", GuestState.HELD, 3, ("c", "d"), DOCUMENT, 7.0)


def a_store(folder: Path) -> Store:
    return Store(new_database(folder))


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.commit(changed([TASK], handovers=[HANDOVER], guests=[GUEST]))
    store.commit(changed(handovers=[replace(HANDOVER, state=HandoverState.GRANTED)]))
    store.close()
    store = a_store(tmp_path)
    exchange = HandoverTable(store)
    assert exchange.handovers() == exchange.handovers("1") == (replace(HANDOVER, state=HandoverState.GRANTED),)
    assert exchange.guests() == ((GUEST,), {})
    store.close()


def test_what_is_settled_or_has_ended_is_not_taken_up_again(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    ended = change_task(TASK, state=TaskState.COMPLETED, finished=9.0)
    store.commit(changed([ended], handovers=[HANDOVER], guests=[replace(GUEST, state=GuestState.ENDED)]))
    exchange = HandoverTable(store)
    assert exchange.handovers() == ()
    assert exchange.guests()[1] == {"1": ended}
    store.commit(changed(guests=[replace(GUEST, state=GuestState.SETTLED)]))
    assert exchange.guests() == ((), {})
    store.close()


def test_every_life_has_a_greater_number(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    assert [HandoverTable(store).next_life(1.0), HandoverTable(store).next_life(1.0)] == [1, 2]
    store.close()
    store = a_store(tmp_path)
    assert HandoverTable(store).next_life(0.0) == 3
    store.close()


def test_a_life_of_a_restored_database_is_later_than_those_forgotten(tmp_path: Path) -> None:
    """Neighbours took its letters for those of a former life, and answered none."""
    known, restored = a_store(tmp_path / "known"), a_store(tmp_path / "restored")
    forgotten = [HandoverTable(known).next_life(time) for time in (1e9, 1e9 + 60.0)]
    assert HandoverTable(restored).next_life(1e9 + 120.0) > max(forgotten)
    known.close()
    restored.close()


def test_what_went_and_came_is_told_newest_first_and_to_its_owner_alone(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    other = make_task(2, application="app", submitted=5.0, owner="bob")
    sent = replace(HANDOVER, state=HandoverState.REFUSED, closed=6.0, outcome="it was full")
    store.commit(changed([TASK, other], handovers=[sent], guests=[replace(GUEST, task="2")]))
    exchange = HandoverTable(store)
    received, given = exchange.exchanged(0.0, None, 9)
    wanted = {
        "peer": "b",
        "direction": "sent",
        "task": "1",
        "name": TASK.spec.name,
        "owner": TASK.owner,
        "time": 5.0,
        "state": "refused",
        "closed": 6.0,
        "why": "b is faster; it was full",
    }
    assert {key: given[key] for key in wanted} == wanted
    told = [received[key] for key in ("peer", "direction", "task", "state", "time")]
    assert told == ["c", "received", "2", "queued", 7.0]
    assert [row["task"] for row in exchange.exchanged(0.0, "bob", 9)] == ["2"]
    assert [row["task"] for row in exchange.exchanged(5.0, None, 9)] == ["2"]
    assert [row["task"] for row in exchange.exchanged(0.0, None, 1)] == ["2"]
    store.close()
