"""What happened since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.connector.contract.base import ContractBase
from cosched.connector.interface import JobState

if TYPE_CHECKING:
    from cosched.connector.contract.bench import Bench

__all__ = ["EventsContract"]


class EventsContract(ContractBase):
    """What happened since the last look."""

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
