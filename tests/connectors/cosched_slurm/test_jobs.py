"""Slurm's words for jobs, of several versions, and words that nobody knows."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import JobState
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched_slurm.jobs import (
    commented_uuid,
    job_comment,
    job_records,
    job_state,
    node_names,
    plain_number,
    start_diagnosis,
    state_words,
)

_ATTEMPT = str(uuid.UUID(int=7))

# As `squeue --json` of 22.05.8 printed it, without the fields that nobody reads.
_OLD = {
    "job_id": 1,
    "comment": job_comment(_ATTEMPT, 2),
    "name": "wrap",
    "job_state": "COMPLETED",
    "state_reason": "None",
    "state_description": "",
    "submit_time": 1795215376,
    "start_time": 1795215377,
    "end_time": 1795215377,
    "exit_code": 0,
    "derived_exit_code": 0,
    "nodes": "node[01,03]",
    "restart_cnt": 0,
    "time_limit": 525600,
}

# The same in the form of data_parser 0.0.42.
_NEW = {
    **_OLD,
    "job_state": ["COMPLETED"],
    "start_time": {"set": True, "infinite": False, "number": 1795215377},
    "end_time": {"set": True, "infinite": False, "number": 1795215377},
    "exit_code": {
        "status": ["SUCCESS"],
        "return_code": {"set": True, "infinite": False, "number": 0},
        "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
    },
}


@given(st.lists(st.integers(0, 300), max_size=8), st.integers(0, 40))
def test_elements_that_wait_are_one_row(starts: list[int], members: int) -> None:
    wanted = {index for start in starts for index in range(start, start + 3) if index < members}
    indices = ",".join(f"{start}-{start + 2}" for start in starts) + "%4"
    row = {
        **_OLD,
        "comment": job_comment(_ATTEMPT, 1, array=True),
        "job_state": "PENDING",
        "array_job_id": 7,
        "array_task_id": None,
        "array_task_string": indices,
    }
    found = job_records([row], lambda _array: [str(index) for index in range(members)])
    shown = {name for name, (record, *_) in found.items() if not record.vanished}
    assert shown == {str(index) for index in wanted}
    assert len(found) == (members if wanted else 0)
    assert all(record.job == f"7_{name}" for name, same in found.items() for record in same)


@pytest.mark.parametrize("words", ["", "x", "1-", "-1", "1-x", "9999999999", "0-...", "1:2", "%4"])
def test_indices_that_make_no_sense_are_nobodys(words: str) -> None:
    row = {**_OLD, "comment": job_comment(_ATTEMPT, 1, array=True), "array_task_string": words}
    assert job_records([row], lambda _array: ["a"]) == {}


def test_an_array_of_another_spool_is_nobodys() -> None:
    assert job_records([{**_OLD, "comment": job_comment(_ATTEMPT, 1, array=True), "array_task_id": 0}]) == {}


def _one(row: dict[str, Any]) -> Any:
    (record,) = job_records([row])[_ATTEMPT]
    return record


def test_both_forms_say_the_same() -> None:
    assert _one(_OLD) == _one(_NEW)
    assert (_one(_OLD).state, _one(_OLD).exit_code, _one(_OLD).started) == (JobState.COMPLETED, 0, 1795215377.0)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (7 << 8, {"return_code": {"set": True, "number": 7}, "signal": {"id": {"set": False, "number": 0}}}, 7),
        (9, {"return_code": {"set": False, "number": 0}, "signal": {"id": {"set": True, "number": 9}}}, 137),
        (15, {"return_code": 0, "signal": {"signal_id": 15, "name": "TERM"}}, 143),
    ],
)
def test_exit_codes_and_signals(old: int, new: dict[str, Any], code: int) -> None:
    assert _one({**_OLD, "job_state": "FAILED", "exit_code": old}).exit_code == code
    assert _one({**_NEW, "job_state": ["FAILED"], "exit_code": new}).exit_code == code


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ("PENDING", JobState.QUEUED),
        (["PENDING", "REQUEUED"], JobState.QUEUED),
        ("CONFIGURING", JobState.QUEUED),
        (["RUNNING", "CONFIGURING"], JobState.QUEUED),
        ("RUNNING", JobState.RUNNING),
        ("SUSPENDED", JobState.HELD),
        (["CANCELLED", "COMPLETING"], JobState.RUNNING),
        ("COMPLETING", JobState.RUNNING),
        ("FAILED", JobState.FAILED),
        ("OUT_OF_MEMORY", JobState.FAILED),
        ("CANCELLED", JobState.REMOVED),
        ("TIMEOUT", JobState.REMOVED),
        ("DEADLINE", JobState.REMOVED),
        ("NODE_FAIL", JobState.EVICTED),
        ("PREEMPTED", JobState.EVICTED),
        ("BOOT_FAIL", JobState.EVICTED),
        (["PENDING", "LAUNCH_FAILED", "REQUEUED"], JobState.QUEUED),
        (["FAILED", "LAUNCH_FAILED"], JobState.FAILED),
        (["PENDING", "RECONFIG_FAIL"], JobState.QUEUED),
        (["PENDING", "REQUEUED", "EXPEDITING"], JobState.QUEUED),
        ("TELEPORTED", JobState.UNKNOWN),
        (["COMPLETED", "TELEPORTED"], JobState.UNKNOWN),
        ("", JobState.UNKNOWN),
        ([], JobState.UNKNOWN),
        (None, JobState.UNKNOWN),
        (3, JobState.UNKNOWN),
        ({}, JobState.UNKNOWN),
    ],
)
def test_states(states: object, state: JobState) -> None:
    assert _one({**_OLD, "job_state": states}).state is state


def test_a_held_job_says_why() -> None:
    record = _one({**_OLD, "job_state": "PENDING", "state_reason": "JobHeldUser"})
    assert record.state is JobState.HELD
    assert "JobHeldUser" in record.reason


@pytest.mark.parametrize(
    ("states", "reason", "minutes", "told"),
    [
        ("TIMEOUT", "TimeLimit", 2, "its time limit of 2 min was over"),
        (
            ["TIMEOUT"],
            "TimeLimit",
            {"set": True, "infinite": False, "number": 90},
            "its time limit of 1 h 30 min was over",
        ),
        ("TIMEOUT", "TimeLimit", None, "its time limit was over"),
        ("OUT_OF_MEMORY", "OutOfMemory", 2, "it took more memory than it had asked for, and Slurm ended it"),
        ("NODE_FAIL", "NodeDown", 2, "node_fail: NodeDown"),
    ],
)
def test_a_job_that_slurm_ended_says_why(states: object, reason: str, minutes: object, told: str) -> None:
    record = _one({**_OLD, "job_state": states, "state_reason": reason, "time_limit": minutes})
    assert record.reason == told


@pytest.mark.parametrize(
    ("states", "reason", "described", "diagnosis"),
    [
        ("PENDING", "Licenses", "", StartDiagnosis(StartVerdict.CLOSED, "Slurm's reason is Licenses")),
        (
            "PENDING",
            "QOSMaxJobs",
            "3 jobs",
            StartDiagnosis(StartVerdict.CLOSED, "Slurm's reason is QOSMaxJobs: 3 jobs"),
        ),
        (
            "PENDING",
            "PartitionConfig",
            "",
            StartDiagnosis(
                StartVerdict.BLOCKED,
                "Slurm's reason is PartitionConfig: no node of its partition has what it asks for, as many cores as "
                "ranks on each host, and memory",
            ),
        ),
        (["PENDING"], "Priority", "", StartDiagnosis(StartVerdict.WAITING, "Slurm's reason is Priority")),
        ("PENDING", "None", "", StartDiagnosis(StartVerdict.WAITING)),
        (["RUNNING", "CONFIGURING"], "None", "", StartDiagnosis(StartVerdict.STARTING)),
        ("RUNNING", "None", "", StartDiagnosis(StartVerdict.STARTING)),
    ],
)
def test_a_job_that_has_not_begun_says_why(
    states: object, reason: str, described: str, diagnosis: StartDiagnosis
) -> None:
    row = {**_OLD, "job_state": states, "state_reason": reason, "state_description": described}
    assert start_diagnosis(job_records([row])[_ATTEMPT][0]) == diagnosis


@pytest.mark.parametrize(
    ("reason", "lasts"),
    [
        ("PartitionDown", False),
        ("PartitionInactive", False),
        ("ReqNodeNotAvail", False),
        ("Reservation", False),
        ("AssocGrpCpuLimit", False),
        ("QOSMaxJobsPerUserLimit", False),
        ("SomethingNew", False),
        ("PartitionTimeLimit", True),
        ("BadConstraints", True),
        ("QOSMaxWallDurationPerJobLimit", True),
        ("AssocMaxCpuPerJobLimit", True),
        ("MaxMemPerLimit", True),
        ("QOSMinCpuNotSatisfied", True),
    ],
)
def test_only_what_is_a_jobs_own_fault_keeps_it_from_beginning_for_good(reason: str, lasts: bool) -> None:
    """A partition that was down for an hour and a half had all tasks fail whose turn came."""
    row = {**_OLD, "job_state": "PENDING", "state_reason": reason}
    verdict = start_diagnosis(job_records([row])[_ATTEMPT][0]).verdict
    assert verdict is (StartVerdict.BLOCKED if lasts else StartVerdict.CLOSED)


def test_the_guess_at_a_start_is_none() -> None:
    assert _one({**_OLD, "job_state": "PENDING"}).started is None


@pytest.mark.parametrize("tail", ["", " ", " deadline=1795215376", " deadline=soon x=y : ünknown", " 7 cosched:1:1"])
def test_the_attempt_is_read_whatever_follows_it_in_the_comment(tail: str) -> None:
    row = {**_OLD, "comment": f"cosched:{_ATTEMPT}:2{tail}"}
    assert commented_uuid(row) == _ATTEMPT
    assert _one(row) == _one(_OLD)


@pytest.mark.parametrize("tail", ["3", "x", ":", "=", "\n", "\t", " a\nb"])
def test_a_comment_that_goes_on_without_a_space_or_on_a_new_line_is_foreign(tail: str) -> None:
    row = {**_OLD, "comment": f"cosched:{_ATTEMPT}:9999999{tail}"}
    assert commented_uuid(row) is None
    assert job_records([row]) == {}


def test_jobs_of_others_are_left_out() -> None:
    foreign = [
        {**_OLD, "comment": text} for text in ("", None, "cosched", f"x{job_comment(_ATTEMPT, 1)}", "cosched:1:1")
    ]
    assert job_records(foreign) == {}


def test_several_jobs_of_one_attempt_are_in_order() -> None:
    found = job_records([{**_OLD, "job_id": 12}, {**_OLD, "job_id": 9}])[_ATTEMPT]
    assert [record.job for record in found] == ["9", "12"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["set", "number", "x"]), inner),
    max_leaves=8,
)


@given(st.sampled_from(["job_state", "state_reason", "start_time", "comment", "job_id", "state_description"]), _JSON)
def test_no_value_of_a_field_is_an_accident(field: str, value: object) -> None:
    assert set(job_records([{**_OLD, field: value}])) <= {_ATTEMPT}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_what_is_not_known_is_never_an_end(invented: list[str]) -> None:
    assert job_state(["COMPLETED", *(word + "?" for word in invented)]) is JobState.UNKNOWN


def test_numbers_and_words() -> None:
    assert plain_number({"set": True, "infinite": True, "number": 3}) is None
    assert plain_number({"set": False, "infinite": False, "number": 3}) is None
    assert plain_number(True) is None
    assert state_words("idle+drain") == ["IDLE", "DRAIN"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node01", ("node01",)),
        ("node[01-03,07],login", ("node01", "node02", "node03", "node07", "login")),
        ("r[1-2]n[09-10]", ("r1n09", "r1n10", "r2n09", "r2n10")),
        ("node[9-11]", ("node9", "node10", "node11")),
        ("", ()),
        ("(null)", ()),
        ("n[0-999999999]", ()),
        ("n[1-9][1-9][1-9][1-9][1-9][1-9]", ()),
    ],
)
def test_lists_are_written_out(text: str, names: tuple[str, ...]) -> None:
    assert node_names(text) == names


@given(st.text(st.sampled_from("n01-9,[]() "), max_size=30))
def test_any_text_ends(text: str) -> None:
    assert len(node_names(text)) <= 100_000
