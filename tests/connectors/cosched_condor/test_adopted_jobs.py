from __future__ import annotations

from typing import Any, cast

import pytest

from cosched.connector import HostShare, JobState, Launch
from cosched_condor.adopted_jobs import CondorAdoptedJobs


class Queue:
    """Answers with the ads that it was given."""

    def __init__(self, *ads: dict[str, Any]) -> None:
        self._ads = ads

    def call(self, verb: str, **_arguments: object) -> list[dict[str, Any]]:
        assert verb == "queue"
        return list(self._ads)


def _ad(process: int, key: str) -> dict[str, Any]:
    return {"ClusterId": 7, "ProcId": process, "GlobalJobId": key, "JobStatus": 1, "Owner": "ann", "Cmd": "/bin/true"}


def test_a_forged_identifier_keeps_nobody_else_from_being_adopted() -> None:
    forged = ["", "x", 'a#7.1#1" || true || "', "a#7#1", "a#7.1#1 || true"]
    ads = [*(_ad(number, key) for number, key in enumerate(forged, start=1)), _ad(0, "schedd@host#7.0#1795000000")]
    (job,) = CondorAdoptedJobs(cast("Any", Queue(*ads))).listed()
    assert (job.key, job.owner, job.job) == ("schedd@host#7.0#1795000000", "ann", "7.0")


def test_the_jobs_of_an_adopted_task_are_found_by_its_number() -> None:
    """`condor_q -constraint 'CoschedTask == "17"'` found those of other tasks alone."""
    key, marks = "schedd@host#7.0#1795000000", dict[str, str]()

    class Marking(Queue):
        def call(self, verb: str, **arguments: Any) -> Any:
            if verb == "edit":
                marks.update(arguments["values"])
                return 1
            return super().call(verb, **arguments)

    attempt = "1b4e28ba-2fa1-51d2-883f-0016d3cca427"
    launch = Launch(attempt, "17", "night", ("/bin/true",), hosts=("node01",), adopted=key)
    assert CondorAdoptedJobs(cast("Any", Marking(_ad(0, key)))).release(launch) == "7.0"
    assert marks["CoschedTask"] == '"17"'
    assert list(marks)[-1] == "CoschedAttempt"  # it opens the gate: all else stands by then


def test_what_a_job_asks_of_each_host_is_known_where_it_is_a_number() -> None:
    ad = _ad(0, "schedd@host#7.0#1795000000") | {"RequestMemory": 2048, "RequestCpus": 4, "RequestGPUs": "1 + 1"}
    (job,) = CondorAdoptedJobs(cast("Any", Queue(ad))).listed()
    assert job.needs == HostShare(2048, 4, 0)


def test_parameters_of_an_application_are_read() -> None:
    ad = _ad(0, "schedd@host#7.0#1795000000") | {"CoschedApplication": "sweep3d", "QDate": 5, "CoschedSet_Scale": 2}
    (job,) = CondorAdoptedJobs(cast("Any", Queue(ad))).listed()
    assert (job.options["application"], job.parameters) == ("sweep3d", {"Scale": "2"})


@pytest.mark.parametrize("value", ["x", float("nan"), 10**30, -5, [2]])
def test_what_a_user_writes_into_a_job_keeps_nobody_else_from_being_adopted(value: Any) -> None:
    """`int` of a text ended the look at the queue, once a second, and nobody's job was adopted any more."""
    key = "schedd@host#7.{}#1795000000"
    names = ("CoschedMachineCount", "MinHosts", "QDate", "CoschedCount", "NumJobStarts", "RequestCpus")
    odd = dict.fromkeys(names, value) | {"JobUniverse": 11, "CoschedAttempt": "a", "CoschedApplication": "x"}
    ads = [_ad(1, key.format(1)) | odd, _ad(0, key.format(0))]
    found = CondorAdoptedJobs(cast("Any", Queue(*ads))).listed()
    assert [job.key for job in found] == [key.format(1), key.format(0)]


def test_a_job_that_its_user_gives_a_billion_processes_has_one() -> None:
    odd = {"CoschedAttempt": "a", "CoschedCount": 10**9, "CoschedRank": 10**8}
    (job,) = CondorAdoptedJobs(cast("Any", Queue(_ad(0, "schedd@host#7.0#1795000000") | odd))).listed()
    assert job.report is not None
    assert job.report.state is JobState.QUEUED
