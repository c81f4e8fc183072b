from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from cosched.connector import ConnectorError, JobState, Launch
from cosched_slurm.adoption.adopted_jobs import SlurmAdoptedJobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cosched_slurm.commands import SlurmCommands

_ATTEMPT, _OTHER = "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174001"
_KEY = "testbed#7#1000"


class Queue:
    """One job of Slurm's, changed as scontrol changes it."""

    def __init__(self, **fields: object) -> None:
        self.lease = int(time.time()) + 300
        note = f"cosched adopt submitted=1000 lease={self.lease} begin=0 nodes=1-4 tasks=2 --deadline=now+1h"
        self.row: dict[str, Any] = {
            "job_id": 7,
            "cluster": "testbed",
            "job_state": "PENDING",
            "admin_comment": note,
            "eligible_time": self.lease,
            "user_name": "ann",
            "command": "/home/ann/job.sh -v",
            "restart_cnt": 0,
            **fields,
        }
        self.changes: list[tuple[str, ...]] = []
        self.accounted: list[str] | None = None

    def accounted_job(self, number: str, submitted: int) -> list[str] | None:
        assert (number, submitted) == ("7", 1000)
        return self.accounted

    def every_job(self) -> list[dict[str, Any]]:
        return [self.row]

    def update(self, jobs: Sequence[str], *changes: str) -> None:
        assert list(jobs) == ["7"]
        if self.row["job_state"] != "PENDING":
            raise ConnectorError("Job is no longer pending execution", transient=True)
        self.changes.append(changes)
        for name, _, value in (change.partition("=") for change in changes):
            if name == "StartTime":
                self.row["eligible_time"] = _slurms_time(value)


def _slurms_time(text: str) -> int:
    """Read a time as Slurm's commands do."""
    if text == "now":
        return int(time.time())
    if text.startswith("uts"):
        return int(text.removeprefix("uts"))
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")  # the rule itself: needs no zone database
        time.tzset()
        yield
    time.tzset()


def _jobs(queue: Queue, spool: Path) -> SlurmAdoptedJobs:
    return SlurmAdoptedJobs(cast("SlurmCommands", queue), spool)


def _launch(attempt: str = _ATTEMPT) -> Launch:
    return Launch(attempt, "t1", "hers", ("/bin/true",), hosts=("node01", "node02"), count=2, adopted=_KEY)


def test_a_job_is_listed_with_what_its_user_asks_now(tmp_path: Path) -> None:
    queue = Queue(comment="cosched: --deadline=now+2h --set=Scale=2 --set Size=9", name="lattice")
    (job,) = _jobs(queue, tmp_path).listed(lambda *_: None)
    assert (job.key, job.owner, job.hosts, job.command) == (_KEY, "ann", "1-4", ("/home/ann/job.sh", "-v"))
    assert job.options == {"name": "lattice", "deadline": "now+2h"}
    assert job.parameters == {"Scale": "2", "Size": "9"}
    assert not job.held


def test_an_attempt_has_its_job_after_the_release_alone_and_after_a_restart(tmp_path: Path) -> None:
    queue = Queue()
    jobs = _jobs(queue, tmp_path)
    assert jobs.records() == {}
    assert jobs.release(_launch()) == "7"
    assert queue.changes == [("NumNodes=2-2", "NumTasks=2", "ReqNodeList=node01,node02", "StartTime=now")]
    assert set(_jobs(queue, tmp_path).records()) == {_ATTEMPT}
    with pytest.raises(ConnectorError, match="another attempt"):
        jobs.release(_launch(_OTHER))


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("7|FAILED|3:0|1100|1200|2|node[01-02]|/home/ann|1001", True),
        ("7|CANCELLED by 5|0:0|Unknown|1200|2|None assigned|/home/ann|1001", False),  # it never began
        ("7|CANCELLED by 5|0:0|1200|1200|2|None assigned|/home/ann|1001", False),  # nor did it here
        ("7|FAILED|3:0|1100|1200|2|node[01-02]|/home/ann|900000", False),  # another job with this number
        ("7|RUNNING|0:0|1100|Unknown|2|node[01-02]|/home/ann|1001", False),
    ],
)
def test_a_forgotten_job_counts_by_the_accounting(tmp_path: Path, line: str, *, known: bool) -> None:
    queue = Queue(job_id=8)
    queue.accounted = [line]
    jobs = _jobs(queue, tmp_path)
    assert jobs.ran_alone(_KEY) is known
    if not known:
        with pytest.raises(ConnectorError, match="no longer in Slurm's queue"):
            jobs.release(_launch())
        return
    assert jobs.release(_launch()) == "7"
    record = jobs.past_record(_ATTEMPT)
    assert record is not None
    assert (record.state, record.exit_code, record.started) == (JobState.FAILED, 3, 1100.0)
    assert jobs.past_record(_OTHER) is None
    assert not jobs.ran_alone(_KEY)  # it is the attempt's now


def test_a_forgotten_job_is_found_in_the_completion_file(tmp_path: Path) -> None:
    file = tmp_path / "completions"
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(1001))
    later = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(1100))
    fields = f"JobState=COMPLETED SubmitTime={at} StartTime={later} EndTime={later} NodeCnt=2 ExitCode=0:0"
    file.write_text(f"JobId=17 UserId=ann(5) {fields} \nJobId=7 UserId=ann(5) {fields} \n")
    jobs = SlurmAdoptedJobs(cast("SlurmCommands", Queue(job_id=8)), tmp_path, file)
    assert jobs.ran_alone(_KEY)
    file.write_text(f"JobId=17 UserId=ann(5) {fields} \n")
    assert not jobs.ran_alone(_KEY)


def test_a_job_cancelled_before_it_began_ran_for_nobody_whatever_the_completion_file_says(tmp_path: Path) -> None:
    file = tmp_path / "completions"
    at, later = (time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(each)) for each in (1001, 1100))
    fields = f"JobState=CANCELLED SubmitTime={at} StartTime={later} EndTime={later} NodeCnt=1 ExitCode=0:0"
    file.write_text(f"JobId=7 UserId=ann(5) {fields} \n")
    queue = Queue()
    queue.row |= {"job_state": "CANCELLED", "nodes": ""}
    assert not SlurmAdoptedJobs(cast("SlurmCommands", queue), tmp_path, file).ran_alone(_KEY)
    assert not SlurmAdoptedJobs(cast("SlurmCommands", Queue(job_id=8)), tmp_path, file).ran_alone(_KEY)


def test_a_job_that_slurm_does_not_let_go_is_refused_alone_and_is_as_its_user_asked(tmp_path: Path) -> None:
    """Its nodes are not in the partition that its user chose, say: nobody had a job submitted for up to a minute."""
    refusal = ConnectorError("scontrol failed: Requested node configuration is not available", transient=True)

    class Refusing(Queue):
        def update(self, jobs: Sequence[str], *changes: str) -> None:
            super().update(jobs, *(change for change in changes if change != "StartTime=now"))
            if "StartTime=now" in changes:
                raise refusal

    queue = Refusing()
    jobs = _jobs(queue, tmp_path)
    with pytest.raises(ConnectorError, match="configuration is not available") as caught:
        jobs.release(_launch())
    assert (caught.value.transient, caught.value.refused) == (True, True)
    assert jobs.attempts() == set()
    assert queue.changes[-1] == ("ReqNodeList=", "NumTasks=2", "NumNodes=1-4")


def test_a_job_that_was_let_go_without_an_answer_may_be_its_attempts(tmp_path: Path) -> None:
    class Silent(Queue):
        def update(self, jobs: Sequence[str], *changes: str) -> None:
            super().update(jobs, *changes)
            raise ConnectorError("scontrol did not answer", transient=True)

    jobs = _jobs(Silent(), tmp_path)
    with pytest.raises(ConnectorError, match="did not answer") as caught:
        jobs.release(_launch())
    assert not caught.value.refused
    assert set(jobs.records()) == {_ATTEMPT}


def test_a_job_whose_release_was_cut_off_is_free_for_another_attempt(tmp_path: Path) -> None:
    queue = Queue()
    jobs = _jobs(queue, tmp_path)
    jobs.release(_launch())
    queue.row["eligible_time"] = queue.lease  # as if Slurm had never heard of it
    jobs = _jobs(queue, tmp_path)
    assert jobs.records() == {}
    jobs.release(_launch(_OTHER))
    assert set(jobs.records()) == {_OTHER}


def test_a_job_called_back_is_as_its_user_asked_and_one_that_runs_stays(tmp_path: Path) -> None:
    queue = Queue()
    jobs = _jobs(queue, tmp_path)
    jobs.release(_launch())
    assert jobs.retract(_ATTEMPT, _KEY)
    assert queue.changes[-1][:3] == ("ReqNodeList=", "NumTasks=2", "NumNodes=1-4")
    assert jobs.attempts() == set()
    jobs.release(_launch())
    queue.row["job_state"] = "RUNNING"
    assert not jobs.retract(_ATTEMPT, _KEY)


@pytest.mark.usefixtures("berlin")
def test_a_lease_ends_when_it_says_in_the_night_the_clocks_go_back(tmp_path: Path) -> None:
    """Slurm took 02:30 for the second of two: the job passed for held by its user, and began by itself later."""
    queue = Queue()
    jobs = _jobs(queue, tmp_path)
    for until in (1_824_942_600, 1_824_946_200):  # 2027-10-31, half past two, twice
        jobs.renew(until)
        assert queue.row["eligible_time"] == until
        (job,) = jobs.listed(lambda *_: None)
        assert not job.held


def test_leases_are_moved_on_and_a_users_own_begin_stays(tmp_path: Path) -> None:
    queue = Queue()
    jobs = _jobs(queue, tmp_path)
    for until in (queue.lease + 100, queue.lease + 200):
        _jobs(queue, tmp_path).renew(until)
        assert queue.row["eligible_time"] == until
    for begin in (int(time.time()) - 1, queue.lease + 150):
        queue.row["eligible_time"] = begin
        jobs.renew(queue.lease + 300)
        assert queue.row["eligible_time"] == begin
    (job,) = jobs.listed(lambda *_: None)
    assert job.held
    with pytest.raises(ConnectorError, match="has it begin later"):
        jobs.release(_launch())


def test_a_job_that_slurm_put_back_is_lost_to_its_attempt(tmp_path: Path) -> None:
    queue = Queue()
    jobs = _jobs(queue, tmp_path)
    jobs.release(_launch())
    queue.row.update(restart_cnt=1, eligible_time=int(time.time()) + 121)
    assert jobs.records()[_ATTEMPT].state is JobState.EVICTED
    assert jobs.retract(_ATTEMPT, _KEY)
    assert jobs.records() == {}


def test_a_job_that_ran_without_cosched_is_shown_until_an_attempt_has_it(tmp_path: Path) -> None:
    queue = Queue(job_state="FAILED", nodes="node03", exit_code=3 << 8)
    jobs = _jobs(queue, tmp_path)
    (job,) = jobs.listed(lambda *_: None)
    assert job.ended
    jobs.release(replace(_launch(), hosts=()))
    assert jobs.listed(lambda *_: None) == []
    record = jobs.records()[_ATTEMPT]
    assert (record.state, record.exit_code, record.hosts) == (JobState.FAILED, 3, ("node03",))
