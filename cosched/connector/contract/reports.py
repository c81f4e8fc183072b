"""The contract of reports: what `find`, `status` and `events` say of a job."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from cosched.connector.contract.bench import ContractBase
from cosched.connector.jobs import JobReport, JobState

if TYPE_CHECKING:
    from cosched.connector.contract.bench import Bench

__all__ = ["EventsContract", "LookupContract"]


class LookupContract(ContractBase):
    """`find` and `status` know a job while it lives and after its end."""

    def test_find_knows_a_job_before_and_after_its_end(self, bench: Bench) -> None:
        """`find` looks into the queue and the history."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        job = bench.submit(launch)
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert found.job == job
        assert not found.state.final
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert (found.state, found.exit_code) == (JobState.COMPLETED, 0)

    def test_the_unknown_is_unknown(self, bench: Bench) -> None:
        """An attempt that was never submitted is UNKNOWN: neither done nor gone."""
        attempt = str(uuid.uuid4())
        assert bench.connector.find(attempt) is None
        assert bench.connector.status([attempt]) == {attempt: JobReport(attempt, JobState.UNKNOWN)}
        assert bench.connector.status([]) == {}

    def test_status_answers_for_many(self, bench: Bench) -> None:
        """One call reports on many attempts, each by its own UUID."""
        hosts = bench.up(3)
        launches = [bench.shell(f"exit {rank}", hosts=(host,)) for rank, host in enumerate(hosts)]
        for launch in launches:
            bench.submit(launch)
        for launch in launches:
            bench.until(launch, JobState.COMPLETED, JobState.FAILED)
        stranger = str(uuid.uuid4())
        reports = bench.connector.status([*(launch.attempt for launch in launches), stranger])
        assert [reports[launch.attempt].exit_code for launch in launches] == [0, 1, 2]
        assert reports[stranger].state is JobState.UNKNOWN


class EventsContract(ContractBase):
    """Events report every change since the last look."""

    def test_events_tell_start_and_end(self, bench: Bench) -> None:
        """Start and end arrive as events, in order, with the data that `status` gives."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        job = bench.submit(launch)
        running = bench.listen(launch, JobState.RUNNING)[-1]
        assert running.started is not None
        gate.touch()
        seen = bench.listen(launch, JobState.COMPLETED, JobState.FAILED)
        assert [report.state for report in seen if report.state.final] == [JobState.COMPLETED]
        last = seen[-1]
        assert (last.job, last.exit_code) == (job, 0)
        assert last.started is not None
        assert last.finished is not None
        assert last.started <= last.finished

    def test_events_tell_of_a_cancel(self, bench: Bench) -> None:
        """The end of a cancelled job is an event too."""
        launch, _ = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.listen(launch, JobState.RUNNING)
        bench.connector.cancel(launch.attempt)
        assert bench.listen(launch, JobState.REMOVED, JobState.COMPLETED, JobState.FAILED)[-1].state is JobState.REMOVED

    def test_no_news_is_an_empty_list(self, bench: Bench) -> None:
        """`events` comes back after its timeout when nothing happened."""
        assert list(bench.connector.events(0.0)) == []
        assert list(bench.connector.events(0.05)) == []
