from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import JobReport, JobState
from cosched.daemon.manager.attempt_lookups import AttemptLookups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.daemon.manager.connector_guard import GuardedConnector


class Jobs:
    """A manager with some jobs that counts its questions."""

    def __init__(self, *known: str) -> None:
        self.state = dict.fromkeys(known, JobState.RUNNING)
        self.asked: list[str] = []
        self.down = False

    def find(self, uuid: str) -> JobReport | None:
        self.asked.append(f"find {uuid}")
        return JobReport(uuid, self.state[uuid]) if uuid in self.state else None

    def status(self, uuids: Sequence[str]) -> list[JobReport]:
        self.asked.append(f"status of {len(uuids)}")
        if self.down:
            raise ConnectorError("away", transient=True)
        return [JobReport(uuid, self.state.get(uuid, JobState.UNKNOWN)) for uuid in uuids]


def looking(jobs: Jobs, wanted: Sequence[str]) -> AttemptLookups:
    return AttemptLookups(cast("GuardedConnector", jobs), lambda: wanted)


MANY = [f"a{number}" for number in range(20)]


def test_many_attempts_are_one_question() -> None:
    jobs = Jobs(*MANY)
    found = looking(jobs, MANY)
    assert [found.find(uuid) for uuid in MANY] == [JobReport(uuid, JobState.RUNNING) for uuid in MANY]
    assert jobs.asked == ["status of 20"]


def test_few_attempts_are_found_one_by_one() -> None:
    jobs = Jobs("a", "b")
    found = looking(jobs, ["a", "b"])
    assert found.find("a") is not None
    assert found.find("b") is not None
    assert jobs.asked == ["find a", "find b"]


def test_an_unknown_attempt_among_many_is_found_alone() -> None:
    jobs = Jobs(*MANY[1:])
    found = looking(jobs, MANY)
    assert [found.find(uuid) for uuid in MANY[:2]] == [None, JobReport("a1", JobState.RUNNING)]
    assert jobs.asked == ["status of 20", "find a0"]


def test_an_answer_is_used_once() -> None:
    jobs = Jobs(*MANY)
    found = looking(jobs, MANY)
    found.find("a0")
    jobs.state["a0"] = JobState.COMPLETED
    assert found.find("a0") == JobReport("a0", JobState.COMPLETED)
    assert jobs.asked == ["status of 20", "status of 20"]


def test_a_cancel_is_not_answered_with_what_was_known_before_it() -> None:
    jobs = Jobs(*MANY)
    found = looking(jobs, MANY)
    found.find("a0")
    jobs.state["a1"] = JobState.REMOVED
    found.forget("a1")
    assert found.find("a1") == JobReport("a1", JobState.REMOVED)
    assert jobs.asked == ["status of 20", "find a1"]


def test_old_answers_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.daemon.manager.attempt_lookups._ANSWER_HOLDS", -1.0)
    jobs = Jobs(*MANY)
    found = looking(jobs, MANY)
    found.find("a0")
    jobs.state["a1"] = JobState.COMPLETED
    assert found.find("a1") == JobReport("a1", JobState.COMPLETED)


def test_a_manager_that_is_away_leaves_no_answers_behind() -> None:
    jobs = Jobs(*MANY)
    found = looking(jobs, MANY)
    jobs.down = True
    with pytest.raises(ConnectorError):
        found.find("a0")
    jobs.down, jobs.state = False, {}
    assert found.find("a0") is None
