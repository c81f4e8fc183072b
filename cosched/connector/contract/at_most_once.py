"""At most once: nothing is run twice, and nothing runs after its cancel."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from cosched.connector.contract.bench import ContractBase
from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import JobState

if TYPE_CHECKING:
    from cosched.connector.contract.bench import Bench
    from cosched.connector.jobs import Launch

__all__ = ["AtMostOnceContract"]


class AtMostOnceContract(ContractBase):
    """At most once: nothing is run twice, and nothing runs after its cancel."""

    def test_submitting_twice_runs_once(self, bench: Bench) -> None:
        """The second submit of a UUID changes nothing, whether the job runs or has ended."""
        launch, diary = bench.diary(hosts=bench.up(1))
        job = bench.submit(launch)
        assert _submit_again(bench, launch) in (job, "")
        bench.until(launch, JobState.COMPLETED)
        assert _submit_again(bench, launch) in (job, "")
        time.sleep(self.quiet)
        assert diary.read_text() == "0\n"

    def test_submitting_again_after_a_restart_runs_once(self, bench: Bench) -> None:
        """A daemon that dies after its submit and tries again makes no second job."""
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.submit(launch)
        bench.restart()
        _submit_again(bench, launch)
        bench.until(launch, JobState.COMPLETED)
        time.sleep(self.quiet)
        assert diary.read_text() == "0\n"

    def test_cancel_ends_a_running_job(self, bench: Bench) -> None:
        """A cancelled job is REMOVED and its processes are gone; a second cancel changes nothing."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        bench.connector.cancel(launch.attempt)
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        gate.touch()
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()

    def test_cancel_takes_a_waiting_job_out(self, bench: Bench) -> None:
        """A job that waits for a busy host is REMOVED and never runs."""
        hosts = bench.up(1)
        first, gate = bench.waiter(hosts=hosts)
        bench.submit(first)
        bench.until(first, JobState.RUNNING)
        second, diary = bench.diary(hosts=hosts)
        bench.submit(second)
        bench.until(second, JobState.QUEUED)
        bench.connector.cancel(second.attempt)
        bench.until(second, JobState.REMOVED)
        gate.touch()
        bench.until(first, JobState.COMPLETED)
        time.sleep(self.quiet)
        assert not diary.exists()

    def test_a_waiting_job_runs_when_its_host_is_free(self, bench: Bench) -> None:
        """A job on a busy host waits, and two never share a host.

        A manager that says why a job has not begun does not say meanwhile that it is starting.
        """
        hosts = bench.up(1)
        first, gate = bench.waiter(hosts=hosts)
        bench.submit(first)
        bench.until(first, JobState.RUNNING)
        second, diary = bench.diary(hosts=hosts)
        bench.submit(second)
        time.sleep(self.quiet)
        assert not diary.exists()
        if bench.offers("diagnose"):
            bench.await_obstacle(second)
            bench.connector.diagnose(str(uuid.uuid4()))  # of what the manager never saw: no error
        gate.touch()
        bench.until(second, JobState.COMPLETED)
        ended, began = bench.report(first).finished, bench.report(second).started
        assert ended is not None
        assert began is not None
        assert int(ended) <= began

    def test_only_what_has_not_begun_is_called_back(self, bench: Bench) -> None:
        """Where the connector calls back, a running job runs on, and a waiting one is REMOVED and never runs."""
        hosts = bench.up(2)
        first, gate = bench.waiter(hosts=hosts)
        bench.submit(first)
        bench.until(first, JobState.RUNNING)
        if not bench.offers("call_back"):
            return
        second, diary = bench.diary(hosts=hosts[:1])
        bench.submit(second)
        bench.until(second, JobState.QUEUED)
        assert not bench.connector.call_back(first.attempt)
        assert bench.connector.call_back(second.attempt)
        assert bench.connector.call_back(second.attempt)
        bench.until(second, JobState.REMOVED)
        gate.touch()
        assert bench.until(first, JobState.COMPLETED).exit_code == 0
        time.sleep(self.quiet)
        assert not diary.exists()

    def test_cancel_of_what_has_ended_changes_nothing(self, bench: Bench) -> None:
        """A finished job stays as it ended."""
        launch, _ = bench.diary(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        bench.connector.cancel(launch.attempt)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0

    def test_cancel_of_the_unknown_is_no_error(self, bench: Bench) -> None:
        """To cancel what the manager never saw is fine, twice too."""
        attempt = str(uuid.uuid4())
        bench.connector.cancel(attempt)
        bench.connector.cancel(attempt)
        assert bench.connector.status([attempt])[attempt].state in (JobState.UNKNOWN, JobState.REMOVED)

    def test_cancel_fences_a_submit_that_comes_late(self, bench: Bench) -> None:
        """After a cancel, a submit of that UUID never runs.

        It is refused, or accepted and REMOVED.

        The co-scheduler takes an attempt for lost only after it has fenced it in this way. A manager that cannot
        keep such a promise overrides this test and says how else a submit that was under way is kept from running.
        """
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.connector.cancel(launch.attempt)
        _submit_again(bench, launch)
        bench.restart()
        _submit_again(bench, launch)
        time.sleep(self.quiet)
        assert not diary.exists()
        assert bench.report(launch).state in (JobState.REMOVED, JobState.UNKNOWN)


def _submit_again(bench: Bench, launch: Launch) -> str:
    """Submit a UUID that was used before; a refusal is fine and gives no job."""
    try:
        return bench.submit(launch)
    except ConnectorError as error:
        assert not error.transient  # noqa: PT017  an error is one of two right answers
        return ""
