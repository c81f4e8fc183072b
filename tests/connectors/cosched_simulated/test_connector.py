"""The simulated connector beside its contract: nothing runs, time passes, and the weather is as it was asked for."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobState, NativeDescription
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.errors import UserError
from cosched_simulated import SimulatedConnector
from tests.connectors.cosched_simulated.makers import a_launch
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched.connector import JobReport, Launch

    Connect = Callable[..., SimulatedConnector]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    made: list[SimulatedConnector] = []

    def connect(**table: object) -> SimulatedConnector:
        made.append(SimulatedConnector({"spool": str(tmp_path / "spool"), "hosts": 4, "error": 0, **table}))
        return made[-1]

    yield connect
    for connector in made:
        connector.close()


def end(connector: SimulatedConnector, launch: Launch) -> JobReport:
    """Wait for an attempt's end."""

    def ended() -> JobReport | None:
        report = connector.status([launch.attempt])[launch.attempt]
        return report if report.state.final else None

    return until(ended)


def test_a_job_takes_as_long_as_was_predicted_and_nothing_runs(connect: Connect, tmp_path: Path) -> None:
    connector = connect()
    command = ("/usr/bin/touch", str(tmp_path / "ran"))
    launch = a_launch("host02", "host03", command=command, predicted=0.05)
    connector.submit(launch)
    report = end(connector, launch)
    assert (report.state, report.exit_code) == (JobState.COMPLETED, 0)
    assert report.started is not None
    assert report.finished == pytest.approx(report.started + 0.05)
    assert not (tmp_path / "ran").exists()


def test_time_passes_while_nobody_looks(connect: Connect) -> None:
    connector = connect()
    first, second = a_launch("host01", predicted=0.1), a_launch("host01", predicted=0.1)
    connector.submit_many([first, second])
    connector.close()
    time.sleep(0.3)
    news = {report.attempt: report for report in connect().events(0)}
    assert {report.state for report in news.values()} == {JobState.COMPLETED}
    assert news[second.attempt].started == news[first.attempt].finished


def test_its_output_says_that_nothing_ran(connect: Connect) -> None:
    connector = connect()
    launch = a_launch("host02", "host04", predicted=60.0)
    waiting = a_launch("host02")
    connector.submit_many([launch, waiting])
    line = b"simulated, nothing ran on host04: /opt/sweep3d 'a b'\n"
    output = connector.output(launch.attempt, "out", 1, 0, 1000)
    assert output is not None
    assert (output.data, output.size) == (line, len(line))
    part = connector.output(launch.attempt, "out", 1, -8, 3)
    assert part is not None
    assert part.data == line[-8:-5]
    errors = connector.output(launch.attempt, "err", 0, 0, 1000)
    assert errors is not None
    assert errors.size == 0
    assert connector.output(launch.attempt, "out", 2, 0, 1000) is None
    assert connector.output(waiting.attempt, "out", 0, 0, 1000) is None


def test_hosts_have_their_classes_and_reasons(connect: Connect, tmp_path: Path) -> None:
    connector = connect(hosts={"SunUltra10": 1, "sgi_origin2000": 1})
    assert [(host.name, host.host_class, host.up) for host in connector.hosts()] == [
        ("host01", "SunUltra10", True),
        ("host02", "sgi_origin2000", True),
    ]
    (tmp_path / "spool" / "offline" / "host02").write_text("new memory\n")
    assert [(host.up, host.reason) for host in connector.hosts()] == [(True, ""), (False, "new memory")]


def test_a_job_waits_for_a_host_that_is_off(connect: Connect, tmp_path: Path) -> None:
    connector = connect()
    connector.hosts()
    (tmp_path / "spool" / "offline" / "host02").touch()
    launch = a_launch("host02", predicted=0.0)
    connector.submit(launch)
    report = connector.find(launch.attempt)
    assert report is not None
    assert (report.state, report.reason) == (JobState.QUEUED, "waits for host02")
    (tmp_path / "spool" / "offline" / "host02").unlink()
    assert end(connector, launch).state is JobState.COMPLETED


def test_a_waiting_job_says_whose_job_has_its_hosts(connect: Connect) -> None:
    connector = connect()
    first, second = a_launch("host02", predicted=1000.0), a_launch("host02", "host03", predicted=1.0)
    number = connector.submit(first)
    connector.submit(second)
    assert connector.diagnose(second.attempt) == StartDiagnosis(StartVerdict.BLOCKED, f"job {number} has host02")
    connector.cancel(first.attempt)


def test_what_runs_on_a_host_that_is_taken_off_is_evicted_at_the_next_look(connect: Connect, tmp_path: Path) -> None:
    connector = connect()
    launch = a_launch("host01", "host02")
    connector.submit(launch)
    connector.events(0)
    (tmp_path / "spool" / "offline" / "host02").touch()
    (report,) = connector.events(0)
    assert (report.attempt, report.state, report.reason) == (launch.attempt, JobState.EVICTED, "host host02 was lost")


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (a_launch("host09"), "host 'host09' does not exist here: choose from host01 … host04"),
        (a_launch(count=5), "asks for 5 hosts of 4"),
        (replace(a_launch(), native=NativeDescription("condor")), "is written for condor"),
    ],
)
def test_what_no_such_pool_could_run_is_refused(connect: Connect, launch: Launch, words: str) -> None:
    with pytest.raises(UserError) as caught:
        connect().submit(launch)
    assert words in str(caught.value)


def test_an_attempt_that_was_cancelled_before_is_refused(connect: Connect) -> None:
    connector = connect()
    launch = a_launch()
    connector.cancel(launch.attempt)
    with pytest.raises(ConnectorError, match="cancelled before it was submitted") as caught:
        connector.submit(launch)
    assert not caught.value.transient


def test_a_busy_pool_does_nothing(connect: Connect) -> None:
    launch = a_launch()
    busy = connect(busy=1)
    for call in (
        busy.hosts,
        lambda: busy.submit(launch),
        lambda: busy.status([]),
        lambda: busy.cancel(launch.attempt),
        lambda: busy.find(launch.attempt),
        lambda: busy.events(0),
        lambda: busy.output(launch.attempt, "out", 0, 0, 1),
    ):
        with pytest.raises(ConnectorError, match="is busy") as caught:
            call()
        assert caught.value.transient
    assert connect().find(launch.attempt) is None
    assert sum(busy.calls.values()) == 7


def test_an_answer_is_lost_after_the_submit(connect: Connect) -> None:
    launch = a_launch()
    with pytest.raises(ConnectorError, match="was lost") as caught:
        connect(lost=1).submit(launch)
    assert caught.value.transient
    assert connect().find(launch.attempt) is not None


def test_a_share_of_the_calls_has_bad_weather(connect: Connect) -> None:
    connector = connect(busy=0.3)
    failed = 0
    for _ in range(300):
        try:
            connector.status([])
        except ConnectorError:
            failed += 1
    assert 60 < failed < 120


def test_which_submits_are_lost_does_not_hang_on_how_often_others_called(connect: Connect) -> None:
    seldom, often = connect(lost=0.3), connect(lost=0.3)
    fates = []
    for turn in range(40):
        for _ in range(turn % 3):
            often.events(0)
        fates.append([_is_lost(connector) for connector in (seldom, often)])
    assert all(one == other for one, other in fates)
    assert {one for one, _ in fates} == {True, False}


def _is_lost(connector: SimulatedConnector) -> bool:
    try:
        connector.submit(a_launch())
    except ConnectorError:
        return True
    return False


def test_events_come_once_or_again_as_asked_for(connect: Connect) -> None:
    launch = a_launch(predicted=60.0)
    once, again = connect(), connect(repeat=1)
    once.submit(launch)
    assert [len(once.events(0)) for _ in range(2)] == [1, 0]
    assert [len(again.events(0)) for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("wakes", ["submit", "end", "close"])
def test_who_waits_for_events_is_woken(connect: Connect, wakes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched_simulated.connector._LOOK", inf)
    connector = connect()
    told: list[JobReport] = []
    if wakes == "end":
        connector.submit(a_launch(predicted=0.3))
        told += connector.events(0)
    act = {"submit": lambda: connector.submit(a_launch()), "end": lambda: None, "close": connector.close}[wakes]
    timer = threading.Timer(0.1, act)
    timer.start()
    if not any(report.state.final for report in told):  # else it ended before we could wait for it
        told += connector.events(1000)  # the test's own limit of time is shorter
    timer.join()
    assert [report.state for report in told] == {
        "submit": [JobState.RUNNING],
        "end": [JobState.RUNNING, JobState.COMPLETED],
        "close": [],
    }[wakes]


def test_processes_that_share_a_pool_submit_each_attempt_once(connect: Connect) -> None:
    launches = [a_launch() for _ in range(10)]
    children = []
    for _ in range(4):  # all of them would make the file
        child = os.fork()
        if not child:
            try:
                connector = connect()
                for launch in launches:
                    connector.submit(launch)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert sorted(int(report.job) for report in connect().events(0)) == list(range(1, 11))


def test_a_closed_connector_says_so(connect: Connect) -> None:
    connector = connect()
    connector.close()
    with pytest.raises(ConnectorError, match="was closed: make another"):
        connector.hosts()
    assert connector.events(60) == []


def test_jobs_that_ended_long_ago_are_forgotten(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = a_launch(predicted=0.0)
    first = connect(keep_days=0)
    first.hosts()
    first.submit(launch)
    end(first, launch)
    time.sleep(0.01)
    connect(keep_days=0).hosts()
    assert first.find(launch.attempt) is not None  # the daemon may have been away, and not have heard of its end
    monkeypatch.setattr("cosched_simulated.connector._FORGET_PERIOD", 0.0)
    connect(keep_days=1).hosts()
    assert first.find(launch.attempt) is not None
    connect(keep_days=0).hosts()
    assert first.find(launch.attempt) is None
