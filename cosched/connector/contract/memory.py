"""What is known of a job, while it lives and after its end."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from cosched.connector.contract.base import ContractBase
from cosched.connector.interface import JobReport, JobState

if TYPE_CHECKING:
    from cosched.connector.contract.bench import Bench

__all__ = ["MemoryContract"]


class MemoryContract(ContractBase):
    """What is known of a job, while it lives and after its end."""

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
        """What was never submitted is found nowhere, and its status is UNKNOWN: not done, not gone."""
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
