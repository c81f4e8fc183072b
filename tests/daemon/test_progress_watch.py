from __future__ import annotations

from structlog.testing import capture_logs

from cosched.coscheduler.progress import Overrun, Progress
from cosched.daemon.progress_watch import ProgressWatch

SLOW = Overrun("u", "7", 100.0, 130.0, {"8": 5.0})


def test_an_overrun_is_logged_once() -> None:
    watch = ProgressWatch(lambda: Progress(overruns=(SLOW,)))
    with capture_logs() as logs:
        for _ in range(4):
            watch.look()
    assert [(line["event"], line["task"], line["presses"]) for line in logs] == [("longer than predicted", "7", "8")]
    assert not watch.faults()  # it is its user's affair


def test_a_job_that_had_ended_before_a_restart_is_no_overrun() -> None:
    found = [Progress(overruns=(SLOW,)), Progress()]
    watch = ProgressWatch(lambda: found.pop(0))
    with capture_logs() as logs:
        watch.look()
        watch.look()
    assert not logs


def test_jobs_that_do_not_begin_are_a_fault_without_names_until_they_do() -> None:
    found = [Progress(("7", "9")), Progress(("9",)), Progress()]
    watch = ProgressWatch(lambda: found.pop(0))
    watch.look()
    (fault,) = watch.faults()
    assert "2 tasks" in fault
    watch.look()
    (fault,) = watch.faults()
    assert "1 task is" in fault
    assert "9" not in fault
    watch.look()
    assert not watch.faults()


def test_a_host_on_which_several_tasks_did_not_begin_is_named() -> None:
    watch = ProgressWatch(lambda: Progress(suspects={"node03": 2}))
    with capture_logs() as logs:
        watch.look()
        watch.look()
    assert [line["host"] for line in logs] == ["node03"]
    (fault,) = watch.faults()
    assert "host node03" in fault
