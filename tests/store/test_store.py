from __future__ import annotations

import itertools
import math
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from sqlalchemy import text

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import Task, TaskState
from cosched.store import KeyedSubmission, LogEntry, Store, TaskSelection
from cosched.store.database import RefusedError, StoreFault
from cosched.store.store import TaskHistory
from tests.changes import changed
from tests.coscheduler.makers import with_shapes
from tests.coscheduler.stages.makers import a_chain
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def task(number: int, state: TaskState = TaskState.QUEUED, finished: float | None = None) -> Task:
    return make_task(
        number,
        name=f"task {number}",
        application="sleep",
        command=("sleep", "1"),
        submitted=1e9,
        state=state,
        finished=finished,
    )


def attempt(uuid: str, of: int, state: AttemptState) -> Attempt:
    return Attempt(uuid, str(of), ("h1",), 1, 2.0, 1e9, state)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/cosched.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = Store(url)
    yield store
    store.close()


def test_an_empty_store_knows_nothing(store: Store) -> None:
    assert store.load() == ((), ())
    assert store.last_number() == 0
    assert store.task("1") is None
    assert store.by_key("k") is None
    assert set(store.counts().values()) == {0}


def test_a_database_keeps_its_own_uuid(store: Store, url: str, tmp_path: Path) -> None:
    again, other = Store(url), Store(f"sqlite:///{tmp_path}/other.db")
    again.close()
    other.close()
    assert UUID(store.instance) == UUID(again.instance) != UUID(other.instance)


def test_a_restart_loads_what_is_not_settled(store: Store, url: str) -> None:
    tasks = [task(1, TaskState.COMPLETED), task(2, TaskState.RUNNING), task(3), task(4, TaskState.CANCELLED)]
    tries = [
        attempt("a", 1, AttemptState.COMPLETED),
        attempt("b", 2, AttemptState.LOST),
        attempt("c", 2, AttemptState.RUNNING),
        attempt("d", 4, AttemptState.CANCELLING),
    ]
    store.commit(changed(tasks, tries))
    store.close()
    again = Store(url)
    found, attempts = again.load()
    again.close()
    assert [item.id for item in found] == ["2", "3", "4"]
    assert sorted(item.uuid for item in attempts) == ["b", "c", "d"]


def test_a_restart_finds_all_shapes_of_a_task(store: Store, url: str) -> None:
    shapes = {2: (60.0, math.inf, 25.0), 8: (math.inf, 20.0)}
    waiting = with_shapes(task(1), shapes, memory=512)
    running = replace(with_shapes(task(2, TaskState.RUNNING), shapes).shaped(8, ()), number=2)
    store.commit(changed([waiting, running], []))
    store.close()
    again = Store(url)
    found, _ = again.load()
    again.close()
    assert found == (waiting, running)
    assert found[1].reopened().alternatives == running.alternatives


def test_a_restart_finds_a_chain_with_all_its_ways(store: Store, url: str) -> None:
    chain = a_chain(1, (1.0, [("sample", 2, 4.0), ("mark", 1, 2.0)]), (0.9, [("sample", 3, 1.0)]), deadline=1e9)
    store.commit(changed(chain, []))
    store.close()
    again = Store(url)
    found, _ = again.load()
    again.close()
    assert found == tuple(chain)


def test_the_later_of_two_values_in_one_step_counts(store: Store) -> None:
    store.commit(changed([task(1), task(1, TaskState.RUNNING)]))
    found = store.task("1")
    assert found is not None
    assert found.status.state is TaskState.RUNNING


def test_a_failed_step_writes_nothing(store: Store) -> None:
    with pytest.raises(RefusedError, match="FOREIGN KEY"):
        store.commit(changed([task(1)], [attempt("a", 99, AttemptState.SUBMITTING)]))
    assert store.task("1") is None


def test_tasks_are_filtered_and_paged_newest_first(store: Store) -> None:
    states = (TaskState.QUEUED, TaskState.COMPLETED)
    store.commit(changed(task(number, states[number % 2]) for number in range(1, 11)))
    assert [item.number for item in store.tasks(limit=3)] == [10, 9, 8]
    assert [item.number for item in store.tasks(TaskSelection((TaskState.QUEUED,)), limit=2, offset=1)] == [8, 6]
    assert store.counts()[TaskState.COMPLETED] == 5
    assert store.last_number() == 10


def test_feedback_gets_the_last_completed_tasks_in_order(store: Store) -> None:
    ends = [5.0, 3.0, 9.0, 7.0]
    store.commit(changed([task(number, TaskState.COMPLETED, end) for number, end in enumerate(ends, 1)] + [task(9)]))
    assert [item.status.finished for item in store.completed(limit=3)] == [5.0, 7.0, 9.0]


def test_a_key_stands_for_its_first_request_and_its_owner(store: Store) -> None:
    submission = KeyedSubmission("k", "digest", ("1",), 1e9, owner="ann")
    store.commit(changed([task(1)], submissions=[submission]))
    assert store.by_key("k", "ann") == submission
    assert store.by_key("k", "bob") is None
    with pytest.raises(RefusedError):
        store.commit(changed([task(2)], submissions=[submission]))
    assert store.task("2") is None


def test_the_log_is_kept_in_order_for_each_task(store: Store) -> None:
    lines = [LogEntry(1.0, "submitted", "1"), LogEntry(2.0, "submitted", "2"), LogEntry(3.0, "job running", "1")]
    store.commit(changed([task(1)], log=lines))
    history = store.history("1", 10)
    assert history is not None
    assert [item.kind for item in history.log] == ["submitted", "job running"]


_WRITER = """
import itertools, sys
from cosched.coscheduler.changes import Changes
from cosched.coscheduler.task import Task, TaskSpec
from cosched.store import Store
store = Store(sys.argv[1])
for number in itertools.count(store.last_number() + 1):
    store.commit(Changes({str(number): Task(str(number), number, 0.0, TaskSpec("", "", ()))}))
    print(number, flush=True)
"""


@pytest.mark.daemon
def test_kill_loses_nothing_that_was_acknowledged(url: str) -> None:
    acknowledged = 0
    for pause in (0.0, 0.013, 0.031):
        process = subprocess.Popen([sys.executable, "-c", _WRITER, url], stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout as lines:
            for line in itertools.islice(lines, 3):
                acknowledged = int(line)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
            acknowledged = max([acknowledged, *(int(line) for line in lines if line.endswith(b"\n"))])
        process.wait()
        store = Store(url)
        present = sorted(item.number for item in store.tasks(limit=10**6))
        store.close()
        assert present == list(range(1, len(present) + 1))
        assert len(present) >= acknowledged > 0


def test_only_its_user_reads_the_database(tmp_path: Path, url: str) -> None:
    before = os.umask(0)
    try:
        store = Store(url)
        store.commit(changed([task(1)]))
        files = list(tmp_path.glob("cosched.db*"))
        assert {file.name for file in files} >= {"cosched.db", "cosched.db-wal"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        store.close()
    finally:
        os.umask(before)


def test_counts_follow_every_change(store: Store) -> None:
    mine = TaskSelection(owner="ann")
    assert sum(store.counts().values()) == 0
    store.commit(changed([task(1), task(2)]))
    assert (store.counts()[TaskState.QUEUED], store.counts(mine)[TaskState.QUEUED]) == (2, 0)
    store.commit(changed([change_task(task(1), state=TaskState.RUNNING, owner="ann")]))
    assert (store.counts()[TaskState.QUEUED], store.counts(mine)[TaskState.RUNNING]) == (1, 1)


def test_a_task_comes_with_its_history_of_one_moment(store: Store) -> None:
    assert store.history("1", 5) is None
    lines = [LogEntry(float(number), "kind", "1", str(number)) for number in range(4)]
    store.commit(changed([task(1)], log=[*lines, LogEntry(9.0, "kind", "2")]))
    found = store.history("1", 3)
    assert found is not None
    assert found == TaskHistory(task(1), (), tuple(lines[1:]), ())


def test_the_log_is_read_from_its_end_and_without_others(store: Store) -> None:
    lines = [LogEntry(1.0, "submitted", "1"), LogEntry(2.0, "submitted", "2"), LogEntry(3.0, "hosts observed")]
    store.commit(changed([replace(task(1), owner="ann"), replace(task(2), owner="bob")], log=lines))
    assert [line.time for line in store.log()] == [3.0, 2.0, 1.0]
    assert [line.time for line in store.log("ann")] == [3.0, 1.0]
    assert [line.time for line in store.log(limit=1, offset=1)] == [2.0]


def test_what_ran_comes_with_its_task_the_last_to_end_first(store: Store) -> None:
    tries = [replace(attempt(f"u{n}", n, AttemptState.COMPLETED), started=1.0, finished=float(n)) for n in (1, 2, 3)]
    store.commit(changed([task(n) for n in (1, 2, 3, 4)], [*tries, attempt("u4", 4, AttemptState.RUNNING)]))
    assert [(tried.uuid, of.id) for tried, of in store.ended_attempts(1.0, 10)] == [("u3", "3"), ("u2", "2")]
    assert store.ended_attempts(0.0, 1)[0][0] == tries[2]


def test_a_history_is_of_one_moment_while_others_write(store: Store) -> None:
    running = threading.Event()

    def write() -> None:
        for count in range(1, 60):
            new = replace(attempt(f"u{count}", 1, AttemptState.LOST), created=float(count))
            store.commit(changed([change_task(task(1), attempts=count)], [new]))
            running.set()

    writer = threading.Thread(target=write)
    writer.start()
    running.wait(60)
    while writer.is_alive():
        history = store.history("1", 1)
        assert history is not None
        assert history.task.status.attempts == len(history.attempts)
    writer.join()


def test_a_history_that_cannot_be_read_leaves_a_store_that_works(store: Store) -> None:
    store.commit(changed([task(1)]))
    store.write(text("DROP TABLE events"))
    with pytest.raises(StoreFault, match="no such table"):
        store.history("1", 3)
    assert store.task("1") == task(1)


def test_lists_show_the_newest_tasks_of_an_owner(store: Store) -> None:
    store.commit(changed(replace(task(number), owner="ann" if number % 2 else "bob") for number in range(1, 6)))
    for owner in (None, "ann"):
        for limit, offset in ((2, 0), (2, 1), (100, 0)):
            selection = TaskSelection(owner=owner)
            tasks = store.tasks(selection, limit, offset)
            names = ("number", "name", "owner", "state", "hosts", "held", "deadline")
            listed = [[row[name] for name in names] for row in store.listed(selection, limit, offset)]
            assert listed == [
                [it.number, it.spec.name, it.owner, it.status.state, it.status.hosts, it.status.held, it.spec.deadline]
                for it in tasks
            ]


def test_reservations_that_are_not_over_are_there_after_a_restart(url: str, store: Store) -> None:
    course = Reservation("r1", ("h1", "h2"), 100.0, 200.0, "course", "chief", 50.0)
    others = [replace(course, id="r2", begin=90.0), replace(course, id="r3", end=120.0)]
    store.commit(changed(reservations=[course, *others]))
    store.commit(changed(reservations=[replace(others[0], released=60.0)]))
    store.close()
    opened = Store(url)
    assert opened.reservations(110.0) == (course, others[1])
    assert opened.reservations(120.0) == (course,)
    opened.close()


def test_a_second_writers_task_of_the_same_number_is_refused(tmp_path: Path) -> None:
    """Put over the first, it ran in its place: of 18 accepted tasks 4 ran twice and 6 never."""
    url = new_database(tmp_path)
    first, second = Store(url), Store(url)
    hers = make_task(1, name="hers", application="")
    first.commit(changed([hers]))
    with pytest.raises(RefusedError, match=r"UNIQUE .*tasks\."):
        second.commit(changed([make_task(1, name="his", application="")]))
    assert first.tasks() == second.tasks() == (hers,)
    ended = change_task(hers, state=TaskState.COMPLETED, finished=5.0)
    first.commit(changed([ended, make_task(2, name="next", application="")]))
    assert second.task("1") == ended
    first.close()
    second.close()


def test_no_number_of_readers_keeps_a_commit_waiting(store: Store) -> None:
    """Sixteen slow questions of users took all connections: nothing could be written, and nothing was dispatched."""
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(store._engine.begin()).execute(text("SELECT count(*) FROM tasks"))
        began = time.monotonic()
        store.commit(changed([task(1)]))
        assert time.monotonic() - began < 10
    assert store.task("1") is not None
