from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport.remote_output import OutputQuery
from cosched.api.problems import NotFoundError
from cosched.app.outputs import TaskOutputs
from cosched.connector.jobs import Output
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.values import LeadStatus
from cosched.coscheduler.handovers import Guest, GuestState, Handover, HandoverState, TaskDocument
from cosched.store import Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UUID = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
HERE, THERE = Output(b"here", 0, 4), Output(b"there", 0, 5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A task that was tried once here, then handed to b, having come from a."""
    store = Store(new_database(tmp_path))
    task = make_task(1, submitted=1.0, origin="a")
    attempt = Attempt("u1", "1", ("h1",), 1, None, 2.0, AttemptState.FAILED)
    document = TaskDocument("t", "a", "ann", 60.0, seconds=(1.0,))
    guest = Guest(UUID, 1, "a", "1", GuestState.SETTLED, 3, ("a",), document, 1.0)
    store.commit(changed([task], [attempt], handovers=[a_handover(HandoverState.GRANTED)], guests=[guest]))
    yield store
    store.close()


def a_handover(state: HandoverState) -> Handover:
    return Handover(UUID, 1, "1", "b", state, "why", 3.0)


def outputs_of(store: Store) -> tuple[TaskOutputs, list[tuple[str, OutputQuery]]]:
    asked: list[tuple[str, OutputQuery]] = []

    def distant(peer: str, query: OutputQuery) -> Output:
        asked.append((peer, query))
        return THERE

    return TaskOutputs(store, lambda uuid, *_: HERE if uuid == "u1" else None, distant), asked


def test_what_ran_elsewhere_is_asked_for_there(store: Store) -> None:
    outputs, asked = outputs_of(store)
    assert outputs.read("1", "err", 2, 0, -9, 10**9) == THERE
    assert outputs.read("1", "out", 0, 3, 0, 5) == THERE
    assert asked == [("b", OutputQuery(UUID, "err", 2, 0, -9, 1 << 20)), ("b", OutputQuery(UUID, "out", 0, 2, 0, 5))]


def test_tries_here_are_read_here(store: Store) -> None:
    outputs, asked = outputs_of(store)
    assert outputs.read("1", "out", 0, 1, 0, 5) == HERE
    store.commit(changed([], [], handovers=[a_handover(HandoverState.RECLAIMED)]))
    assert outputs.read("1", "out", 0, 0, 0, 5) == HERE
    assert asked == []
    with pytest.raises(NotFoundError, match="no attempt 2"):
        outputs.read("1", "out", 0, 2, 0, 5)


def test_a_neighbour_reads_what_it_gave_and_nothing_else(store: Store) -> None:
    outputs, asked = outputs_of(store)
    assert outputs.for_peer("a", OutputQuery(UUID, "out")) == THERE  # through us
    assert len(asked) == 1
    for peer, uuid in (("b", UUID), ("a", UUID.replace("9", "8"))):
        with pytest.raises(NotFoundError):
            outputs.for_peer(peer, OutputQuery(uuid, "out"))


def test_the_output_of_a_worker_is_read_by_its_number_in_its_try(store: Store) -> None:
    lead = LeadStatus(("h2",))
    attempts = [
        Attempt("l1", "2", ("h1",), 1, None, 10.0, AttemptState.LOST, lead=lead),
        Attempt("w1", "2", ("h2",), 1, None, 11.0, AttemptState.LOST, worker=1),
        Attempt("l2", "2", ("h1",), 1, None, 20.0, AttemptState.FAILED, lead=lead),
        Attempt("w2", "2", ("h2",), 1, None, 21.0, AttemptState.CANCELLED, worker=1),
    ]
    store.commit(changed([make_task(2, submitted=1.0)], attempts))
    asked: list[tuple[str, int]] = []

    def local(uuid: str, _stream: str, rank: int, _offset: int, _limit: int) -> Output:
        asked.append((uuid, rank))
        return HERE

    outputs = TaskOutputs(store, local)
    for rank, attempt in ((0, 0), (1, 0), (0, 1), (1, 1)):
        outputs.read("2", "out", rank, attempt, 0, 9)
    assert asked == [("l2", 0), ("w2", 0), ("l1", 0), ("w1", 0)]
    alone = Attempt("r1", "2", ("h1", "h2"), 2, None, 30.0, AttemptState.RUNNING, lead=LeadStatus(restarts=True))
    store.commit(changed([], [alone]))
    outputs.read("2", "out", 1, 0, 0, 9)  # it runs on all of its hosts itself
    assert asked[-1] == ("r1", 1)
    with pytest.raises(NotFoundError, match="has had no worker 7"):
        outputs.read("2", "out", 7, 1, 0, 9)


def test_a_worker_that_stayed_from_an_earlier_stage_is_found_by_its_number(store: Store) -> None:
    attempts = [
        Attempt("w1", "2", ("h2",), 1, None, 1.0, AttemptState.FAILED, worker=1),
        Attempt("l2", "2", ("h1",), 1, None, 2.0, AttemptState.FAILED, lead=LeadStatus(whole_chain=True, job_of="l1")),
    ]
    store.commit(changed([make_task(2, submitted=1.0)], attempts))
    outputs = TaskOutputs(store, lambda uuid, *_: HERE if uuid == "w1" else None)
    assert outputs.read("2", "err", 1, 0, 0, 9) == HERE


def test_the_output_of_one_program_for_several_stages_is_that_of_its_job(store: Store) -> None:
    task = make_task(2, submitted=1.0)
    over = Attempt("u2", "2", ("h1",), 1, None, 2.0, AttemptState.COMPLETED, lead=LeadStatus(job_of="u1"))
    store.commit(changed([task], [over]))
    assert outputs_of(store)[0].read("2", "out", 0, 0, 0, 5) == HERE
