"""What the connector asks of HTCondor, and what it makes of its answers; HTCondor itself is played."""

from __future__ import annotations

import subprocess
import sys
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState, Launch
from cosched.connector.jobs import LaunchMode
from cosched.errors import UserError
from cosched_condor import CondorConnector

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ATTEMPT = str(uuid.uuid4())
SUBMITTED = {"cluster": 7, "fenced": [], "released": {"TotalSuccess": 1}}
LAUNCH = Launch(ATTEMPT, "17", "jacobi", ("/bin/true",), hosts=("a", "b"), count=2)
DOWN = ConnectorError("HTCondor did not answer within 30 s: is its scheduler well?", transient=True)
NOTE = f"cosched {ATTEMPT} 1"


class Played:
    """HTCondor's part: each verb has an answer, an error, or a function of the request."""

    def __init__(self, **script: Any) -> None:
        self.script: dict[str, Any] = {
            "submit": SUBMITTED,
            "submit_spooled": SUBMITTED,
            "act": {"TotalSuccess": 1},
            "retrieve": None,
            "scheduler": "s@h",
            "queue": [],
            "history": [],
            "follow": [],
            "hosts": [],
            "slots": [],
            **script,
        }
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, verb: str, wait: float = 0.0, **arguments: Any) -> Any:
        if verb == "user" or arguments.get("projection") == ["Owner"]:  # whose its own jobs are
            return "cosched@pool" if verb == "user" else [{"Owner": "cosched"}]
        self.calls.append((verb, arguments))
        answer = self.script[verb]
        if isinstance(answer, Exception):
            raise answer
        return answer(arguments) if callable(answer) else answer

    def close(self) -> None:
        self.calls.append(("close", {}))

    @property
    def verbs(self) -> list[str]:
        return [arguments.get("action", verb) for verb, arguments in self.calls]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[CondorConnector, Played]]:
    def connector(files: str = "shared", **script: Any) -> tuple[CondorConnector, Played]:
        played = Played(**script)
        monkeypatch.setattr("cosched_condor.connector.CondorClient", lambda *_: played)
        return CondorConnector({"spool": str(tmp_path / "spool"), "files": files}), played

    return connector


def ad(rank: int = 0, count: int = 1, **values: Any) -> dict[str, Any]:
    return {"ClusterId": 7, "ProcId": rank, "CoschedAttempt": ATTEMPT, "CoschedCount": count, **values}


def event(number: int, **values: Any) -> dict[str, Any]:
    return {"EventTypeNumber": number, "Cluster": 7, "Proc": 0, "EventTime": "2026-01-31T12:00:00", **values}


def done(rank: int, count: int) -> dict[str, Any]:
    return ad(
        rank, count, JobStatus=4, ExitCode=0, CompletionDate=9, JobCurrentStartDate=1, JobCurrentStartExecutingDate=2
    )


def test_nothing_runs_before_its_release(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    connector, played = play()
    assert connector.submit(LAUNCH) == "7.0"
    assert played.verbs == ["submit"]
    assert "hold = true" in played.calls[0][1]["description"]
    assert played.calls[0][1]["fences"][ATTEMPT].endswith(f"/fences/{ATTEMPT}")


def test_what_was_submitted_is_not_submitted_again(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    connector, played = play()
    connector.submit(LAUNCH)
    played.script["queue"] = [ad(0, 2, JobStatus=1), ad(1, 2, JobStatus=1)]
    assert connector.submit(LAUNCH) == "7.0"
    assert played.verbs.count("submit") == 1


def test_what_was_cancelled_is_not_submitted(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    connector, played = play()
    connector.cancel(ATTEMPT)
    with pytest.raises(ConnectorError, match="cancelled before it was submitted") as caught:
        connector.submit(LAUNCH)
    assert not caught.value.transient
    assert "submit" not in played.verbs


def test_a_cancel_during_the_submit_removes_what_came_of_it(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    def cancelled_meanwhile(_request: dict[str, Any]) -> dict[str, Any]:
        connector.cancel(ATTEMPT)
        return {"cluster": 7, "released": {}}

    connector, played = play(submit=cancelled_meanwhile)
    with pytest.raises(ConnectorError, match="cancelled before it was submitted"):
        connector.submit(LAUNCH)
    assert played.verbs == ["submit", "Remove", "Remove"]


def test_a_cancel_is_a_fence_although_htcondor_is_away(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    connector, played = play(act=DOWN)
    with pytest.raises(ConnectorError, match="did not answer"):
        connector.cancel(ATTEMPT)
    with pytest.raises(ConnectorError, match="cancelled before it was submitted"):
        connector.submit(LAUNCH)
    assert "submit" not in played.verbs


@pytest.mark.parametrize("count", ["TotalPermissionDenied", "TotalError"])
def test_a_refused_release_says_what_to_do(play: Callable[..., tuple[CondorConnector, Played]], count: str) -> None:
    connector, played = play(submit={"cluster": 7, "released": {count: 1}})
    with pytest.raises(ConnectorError, match="submit and run cosched as one user") as refusal:
        connector.submit(LAUNCH)
    assert not refusal.value.transient
    assert played.verbs == ["submit", "Remove"]  # it must not stay in the queue, on hold


def test_a_release_that_was_not_heard_of_is_found_out_about(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play(submit={"cluster": 7, "released": {"error": "timed out"}})
    with pytest.raises(ConnectorError, match="timed out") as refusal:
        connector.submit(LAUNCH)
    assert refusal.value.transient
    assert played.verbs == ["submit"]


@pytest.mark.parametrize("attempt", ["", '" || true', "../x"])
def test_what_is_not_a_uuid_never_reaches_htcondor(
    play: Callable[..., tuple[CondorConnector, Played]], attempt: str
) -> None:
    connector, played = play()
    for ask in (connector.cancel, connector.find, lambda attempt: connector.status([attempt])):
        with pytest.raises(UserError, match="not a UUID"):
            ask(attempt)
    assert played.calls == []


def test_a_submission_that_was_cut_off_is_released_when_it_is_seen(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play(queue=[ad(JobStatus=5, HoldReasonCode=15)])
    report = connector.find(ATTEMPT)
    assert report is not None
    assert report.state is JobState.QUEUED
    assert played.verbs == ["queue", "Release"]
    connector.cancel(ATTEMPT)
    connector.find(ATTEMPT)
    assert played.verbs[2:] == ["Remove", "queue", "Remove"]


def _full(room: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a scheduler that has room for so many processes."""
    left = [room]

    def submit(request: dict[str, Any]) -> dict[str, Any]:
        count = len(request["items"])
        if count > left[0]:
            raise ConnectorError("its limit MAX_JOBS_PER_OWNER is reached", transient=True, refused=True)
        left[0] -= count
        return {"cluster": 7 + left[0], "fenced": [], "released": {"TotalSuccess": count}}

    return submit


@pytest.mark.parametrize("room", [0, 1, 5, 8, 31, 32])
def test_of_what_leaves_together_so_many_go_as_there_is_room_for(
    play: Callable[..., tuple[CondorConnector, Played]], room: int
) -> None:
    connector, played = play(submit=_full(room))
    launches = [replace(LAUNCH, attempt=str(uuid.uuid4()), hosts=("a",), count=1) for _ in range(32)]
    outcomes = connector.submit_many(launches)
    assert [isinstance(outcomes[launch.attempt], str) for launch in launches] == [True] * room + [False] * (32 - room)
    assert all(outcomes.refused(launch.attempt) for launch in launches[room:])
    assert played.verbs.count("submit") <= 11  # two for each halving


def test_a_directory_that_is_not_there_is_the_fault_of_its_own_tasks_alone(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    """HTCondor takes none of the jobs that it is given together: all tasks that left with such a one failed."""
    clusters = iter(range(1, 9))

    def submit(request: dict[str, Any]) -> dict[str, Any]:
        if any(item["CoschedDirectory"] == "/gone" for item in request["items"]):
            raise ConnectorError("Failed to create job ad: No such directory: /gone", transient=False)
        return {**SUBMITTED, "cluster": next(clusters)}

    connector, played = play(submit=submit)
    places = ["/home", "/gone", "", "/home", "", "/gone"]
    launches = [
        replace(LAUNCH, attempt=str(uuid.uuid4()), hosts=("a",), count=1, directory=directory) for directory in places
    ]
    outcomes = connector.submit_many(launches)
    ends = [outcomes[launch.attempt] for launch in launches]
    assert [str(end) if isinstance(end, str) else "gone" for end in ends] == [
        "1.0",
        "gone",
        "2.0",
        "1.1",
        "2.1",
        "gone",
    ]
    assert all("/gone" in str(end) for end in ends if not isinstance(end, str))
    assert played.verbs.count("submit") == 4


def test_a_group_that_no_submission_may_have_fails_and_says_what_to_do(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    full = ConnectorError("its limit MAX_JOBS_PER_SUBMISSION is reached", transient=True, refused=True)
    connector, _ = play(submit=full)
    with pytest.raises(ConnectorError, match="raise MAX_JOBS_PER_SUBMISSION") as caught:
        connector.submit(LAUNCH)
    assert not caught.value.transient


def test_what_may_have_been_submitted_before_is_looked_for_although_there_is_no_room(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, _ = play(submit=_full(0))
    for refused in (True, False):
        with pytest.raises(ConnectorError) as caught:
            connector.submit(LAUNCH)
        assert (caught.value.transient, caught.value.refused) == (True, refused)


def test_files_go_with_a_submission_from_afar(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    connector, played = play("spooled")
    assert connector.submit(LAUNCH) == "7.0"
    assert played.verbs == ["submit_spooled"]
    assert "transfer_input_files" in played.calls[0][1]["description"]


def test_a_program_that_is_launched_once_is_refused_where_its_processes_share_no_folder(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play("spooled")
    with pytest.raises(UserError, match=r"leave --mpi and --launch out"):
        connector.check_task("ann", LaunchMode.OPENMPI)
    with pytest.raises(UserError, match=r"leave --mpi and --launch out"):
        connector.submit(replace(LAUNCH, launch=LaunchMode.ONCE))
    connector.check_task("ann", LaunchMode.EACH)
    assert played.verbs == []  # HTCondor is asked nothing
    play("shared")[0].check_task("ann", LaunchMode.OPENMPI)


def test_a_submission_whose_files_never_came_is_withdrawn_and_as_if_it_had_not_been(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    waits = ad(JobStatus=5, HoldReasonCode=16, EnteredCurrentStatus=1000, ServerTime=1100)
    connector, played = play("spooled", queue=[waits])
    report = connector.find(ATTEMPT)
    assert report is not None
    assert report.state is JobState.QUEUED
    assert played.verbs == ["queue"]  # they may be on their way
    played.script["queue"] = [{**waits, "ServerTime": 9999}]
    connector.find(ATTEMPT)
    assert played.verbs == ["queue", "queue", "Remove"]
    reason = played.calls[-1][1]["reason"]
    played.script.update(queue=[], history=[{**waits, "JobStatus": 3, "RemoveReason": f"{reason} (by user ann)"}])
    assert connector.find(ATTEMPT) is None


def test_a_cancel_leaves_what_ended_and_waits_for_its_output(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play("spooled")
    connector.cancel(ATTEMPT)
    assert "JobStatus != 4" in played.calls[-1][1]["constraint"]


def test_output_is_fetched_when_it_is_asked_for_before_the_news(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play("spooled")
    connector.submit(LAUNCH)
    assert connector.output(ATTEMPT, "out", 0, 0, 9) is None
    played.script["queue"] = [done(0, 2), done(1, 2)]
    connector.status([ATTEMPT])
    connector.output(ATTEMPT, "out", 0, 0, 9)
    connector.output(ATTEMPT, "out", 1, 0, 9)
    assert played.verbs.count("retrieve") == 1


def test_the_history_is_asked_only_for_what_the_queue_does_not_show_whole(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play(queue=[ad(0, 2, JobStatus=1), ad(1, 2, JobStatus=1)])
    connector.status([ATTEMPT])
    assert "history" not in played.verbs
    played.script.update(queue=[ad(0, 2, JobStatus=1)], history=[done(1, 2)])
    assert connector.status([ATTEMPT])[ATTEMPT].state is JobState.QUEUED
    assert played.verbs[-1] == "history"


def test_a_history_that_cannot_be_read_is_not_taken_for_absence(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, _ = play(history=DOWN)
    with pytest.raises(ConnectorError, match="did not answer"):
        connector.find(ATTEMPT)


def test_the_history_is_read_back_to_the_submission_and_no_further(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play()
    connector.find(ATTEMPT)
    assert played.calls[-1][1]["since"] == ""  # nobody knows since when
    connector.submit(LAUNCH)
    connector.find(ATTEMPT)
    assert played.calls[-1][1]["since"].startswith("EnteredCurrentStatus < ")


def test_asking_for_nothing_asks_nobody(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    connector, played = play()
    assert connector.status([]) == {}
    assert played.calls == []


def test_a_script_that_ended_at_the_fence_was_cancelled(play: Callable[..., tuple[CondorConnector, Played]]) -> None:
    ended = ad(JobStatus=4, ExitCode=143, CompletionDate=9, JobCurrentStartDate=1, JobCurrentStartExecutingDate=2)
    connector, _ = play(history=[ended])
    report = connector.find(ATTEMPT)
    assert report is not None
    assert report.state is JobState.FAILED  # nobody cancelled it: it is the program's own
    connector.cancel(ATTEMPT)
    report = connector.find(ATTEMPT)
    assert report is not None
    assert (report.state, report.exit_code) == (JobState.REMOVED, None)


def test_reports_are_told_although_a_job_cannot_be_removed_now(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    """The log is read once: what is not told then would be missing until somebody asks for the status."""
    connector, _ = play(act=DOWN, follow=[event(0, LogNotes=NOTE)])
    with pytest.raises(ConnectorError):
        connector.cancel(ATTEMPT)
    assert [report.state for report in connector.events(0.0)] == [JobState.QUEUED]


def test_after_an_error_events_are_taken_from_the_logs_beginning(
    play: Callable[..., tuple[CondorConnector, Played]],
) -> None:
    connector, played = play(follow=[event(0, LogNotes=NOTE)])
    connector.events(0.0)
    played.script["follow"] = DOWN
    with pytest.raises(ConnectorError):
        connector.events(0.0)
    played.script["follow"] = [event(0, LogNotes=NOTE), event(1)]
    assert [report.state for report in connector.events(0.0)] == [JobState.QUEUED, JobState.RUNNING]


_SECOND = """
import sys
from cosched_condor.connector import CondorConnector
CondorConnector({"spool": sys.argv[1]}).hosts()
"""


def test_a_second_daemon_on_the_same_spool_is_refused(
    play: Callable[..., tuple[CondorConnector, Played]], tmp_path: Path
) -> None:
    """Neither saw the other's jobs: both planned with the hosts that these had."""
    connector, _ = play()
    connector.hosts()
    words = [sys.executable, "-c", _SECOND, str(tmp_path / "spool")]
    second = subprocess.run(words, capture_output=True, text=True, check=False)
    assert f"the spool {tmp_path / 'spool'} is in use by another cosched" in second.stderr
    connector.close()


def test_an_attribute_of_classes_that_no_machine_has_is_remarked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = {"Name": "slot1@a", "Machine": "a", "State": "Unclaimed", "Activity": "Idle"}
    played = Played(hosts=[slot])
    monkeypatch.setattr("cosched_condor.connector.CondorClient", lambda *_: played)
    connector = CondorConnector({"spool": str(tmp_path / "spool"), "host_class": "Kind"})
    assert connector.remarks() == []  # no machine was seen yet
    assert [host.host_class for host in connector.hosts()] == [""]
    assert ["Kind, and no machine has" in remark for remark in connector.remarks()] == [True]
    played.script["hosts"] = [slot, slot | {"Name": "slot1@b", "Machine": "b", "Kind": "sun"}]
    assert len(connector.hosts()) == 2
    assert connector.remarks() == []
    connector.close()


def test_a_scheduler_that_the_collector_does_not_show_is_remarked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt name was told of when the first task was submitted."""
    played = Played(scheduler=ConnectorError("the collector shows no scheduler s", transient=True))
    monkeypatch.setattr("cosched_condor.connector.CondorClient", lambda *_: played)
    connector = CondorConnector({"spool": str(tmp_path / "spool")})
    connector.hosts()
    assert connector.remarks() == ["the collector shows no scheduler s"]
    played.script["scheduler"] = "s@h"
    connector.hosts()
    assert connector.remarks() == []
    connector.close()


def test_a_spool_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    connector = CondorConnector({"spool": str(tmp_path / "file" / "spool")})
    for ask in (
        connector.hosts,
        lambda: connector.submit(LAUNCH),
        lambda: connector.cancel(ATTEMPT),
        lambda: connector.events(0.0),
    ):
        with pytest.raises(ConnectorError, match=f"cannot work in its spool.*{tmp_path}") as caught:
            ask()
        assert caught.value.transient


def test_jobs_of_another_scheduler_are_elsewhere(tmp_path: Path) -> None:
    table = {"spool": str(tmp_path / "spool")}
    for name in ("old.conf", "new.conf"):
        (tmp_path / name).touch()
    named = [{**table, "config": str(tmp_path / name)} for name in ("old.conf", "new.conf")]
    tables = [table, *named, {**table, "schedd": "a@pool"}, {**table, "schedd": "b@pool"}]
    assert len({CondorConnector(each).home for each in tables}) == len(tables)
