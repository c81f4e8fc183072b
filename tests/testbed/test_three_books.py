"""The checker of three books finds what it is for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.testbed.diaries import Entry
from tests.testbed.node_size import NodeSize
from tests.testbed.three_books import Holding, Look, compared, overdrawn, reporting_delays, unexplained

_NODE = NodeSize(8, 1000, 2)
_ONE = Entry("a", "one", 100.0, 110.0, 4, 500, 1, frozenset("0"))
_TWO = Entry("b", "two", 105.0, 120.0, 8, 100, 0, frozenset())
_BOOK = (Holding("one", "a", 4, 500, 1), Holding("two", "b", 8, 100, 0))
_NAMES = {"7": "one", "8": "two"}


def test_three_books_that_agree_have_no_fault() -> None:
    managers = (Holding("one", "a", 4, 512, 1), Holding("two", "b", 8, 128, 0))  # in HTCondor's steps
    assert compared(_BOOK, managers, [_ONE, _TWO], _NODE) == []


@pytest.mark.parametrize("change", [{"host": "b"}, {"cores": 5}, {"memory": 800}, {"gpus": 0}, {"job": "three"}])
@pytest.mark.parametrize("ours", [True, False])
def test_a_book_that_says_something_else_is_found(change: dict[str, str | int], ours: bool) -> None:
    other = (_BOOK[0]._replace(**change), _BOOK[1])  # type: ignore[arg-type]
    found = compared(other if ours else _BOOK, _BOOK if ours else other, [_ONE, _TWO], _NODE)
    name = "cosched" if ours else "the manager"
    assert sum(name in each for each in found) >= 2  # it knows what is not, and does not know what is


def test_what_comes_with_cores_is_compared_although_the_program_was_not_told() -> None:
    untold = replace(_ONE, memory=0)
    assert compared(_BOOK, _BOOK, [untold, _TWO], _NODE) == []
    other = (_BOOK[0]._replace(memory=800), _BOOK[1])
    assert any("not the manager" in each for each in compared(_BOOK, other, [untold, _TWO], _NODE))


def test_a_job_that_is_missing_or_there_twice_is_found() -> None:
    assert any("does not know" in each for each in compared(_BOOK[:1], _BOOK, [_ONE, _TWO], _NODE))
    assert any("twice" in each for each in compared(_BOOK, (*_BOOK, _BOOK[0]), [_ONE, _TWO], _NODE))


def test_a_job_that_saw_other_devices_than_it_was_to_have_is_found() -> None:
    seen = replace(_ONE, devices=frozenset("01"))
    assert any("2" in each and "GPUs" in each for each in compared(_BOOK, _BOOK, [seen, _TWO], _NODE))


def look(at: float, ours: str, managers: str) -> Look:
    return Look(at, at + 0.5, frozenset(ours.split()), frozenset(managers.split()), {"a": 4})


def test_books_that_differ_shortly_after_a_begin_or_end_are_explained() -> None:
    looks = [look(100.2, "", "7"), look(101.0, "one", "7"), look(110.4, "one two", "8"), look(119.8, "two", "")]
    faults, differences = unexplained(looks, _NAMES, [_ONE, _TWO], _NODE, 2.0)
    assert faults == []
    assert {each.job for each in differences} == {"one", "two"}
    assert max(each.age for each in differences) < 2.0


@pytest.mark.parametrize(
    ("ours", "managers", "job"),
    [("two", "7 8", "one"), ("one two", "8", "one"), ("", "", "two")],
)
def test_books_that_differ_longer_than_news_takes_are_found(ours: str, managers: str, job: str) -> None:
    faults, _ = unexplained([look(107.5, ours, managers)], _NAMES, [_ONE, _TWO], _NODE, 1.0)
    assert any(job in each for each in faults)


def test_a_job_that_runs_on_in_a_book_after_its_end_is_found() -> None:
    faults, differences = unexplained([look(150.0, "two", "8")], _NAMES, [_ONE, _TWO], _NODE, 20.0)
    assert len(faults) == len(differences) == 2  # cosched and the manager agree, and the diary is at odds with both
    assert unexplained([look(150.0, "two", "8")], _NAMES, [_ONE, _TWO], _NODE, 30.0)[0] == []


def test_a_host_that_the_manager_overfills_is_found() -> None:
    full = look(106.0, "one two", "7 8")._replace(used={"a": 9})
    assert "9 of 8 cores" in unexplained([full], _NAMES, [_ONE, _TWO], _NODE, 1.0)[0][0]


def test_the_delay_is_measured_until_a_client_is_told() -> None:
    told = {("1", "job running"): 100.5, ("1", "job completed"): 112.0, ("2", "job running"): 104.75}
    tasks = [SimpleNamespace(id="1", name="one"), SimpleNamespace(id="2", name="two")]
    assert reporting_delays(told, tasks, [_ONE, _TWO]) == [0.5, 2.0, 0.25]  # type: ignore[arg-type]


def test_licences_that_jobs_hold_beyond_what_there_is_are_found() -> None:
    held = {"one": {"matlab": 2}, "two": {"matlab": 2}}
    assert overdrawn([_ONE, _TWO], held, {"matlab": 4}) == []
    assert "4 of 3 matlab" in overdrawn([_ONE, _TWO], held, {"matlab": 3})[0]
    later = replace(_TWO, began=110.0)
    assert overdrawn([_ONE, later], held, {"matlab": 3}) == []
