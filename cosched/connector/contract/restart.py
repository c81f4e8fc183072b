"""A new object takes up what an old one left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract.base import ContractBase
from cosched.connector.interface import JobState

if TYPE_CHECKING:
    from cosched.connector.contract.bench import Bench

__all__ = ["RestartContract"]


class RestartContract(ContractBase):
    """A new object takes up what an old one left."""

    def test_a_restart_finds_what_runs(self, bench: Bench) -> None:
        """A new object knows the running job and hears of its end."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        job = bench.submit(launch)
        began = bench.until(launch, JobState.RUNNING).started
        bench.restart()
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert (found.state, found.job) == (JobState.RUNNING, job)
        assert found.started == pytest.approx(began, abs=1.0)
        gate.touch()
        assert bench.listen(launch, JobState.COMPLETED, JobState.FAILED)[-1].exit_code == 0

    def test_a_restart_hears_of_what_ended_meanwhile(self, bench: Bench) -> None:
        """An end that nobody saw is reported to the next object."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)

        def meanwhile() -> None:
            gate.touch()
            bench.await_file(gate.with_name(gate.name + ".done"))

        bench.restart(meanwhile)
        assert bench.listen(launch, JobState.COMPLETED, JobState.FAILED)[-1].state is JobState.COMPLETED

    def test_a_restart_can_cancel(self, bench: Bench) -> None:
        """A new object cancels what an old one submitted."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        bench.restart()
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        gate.touch()
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()
