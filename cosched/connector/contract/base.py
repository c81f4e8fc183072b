"""What a connector's tests give to the contract, as fixtures with defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract.bench import Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched.connector.interface import Connector

__all__ = ["ContractBase"]


class ContractBase:
    """The fixtures that all parts of the contract use.

    Attributes:
        patience: seconds to wait for what must come; raise it for a manager that is slow to schedule.
        quiet: seconds to watch for what must not come: longer than the manager needs to start a job.
    """

    patience: float = 10.0
    quiet: float = 0.5

    @pytest.fixture
    def connect(self) -> Callable[[], Connector]:
        """Give a function that makes one more connector object on the same manager (a restart)."""
        raise NotImplementedError("a connector's contract tests must define the fixture 'connect'")

    @pytest.fixture
    def take_host(self) -> Callable[[str], None]:
        """Give a function that takes a host off under what runs there."""
        pytest.skip("the tests of this connector have no means to take a host off")

    @pytest.fixture
    def give_host(self) -> Callable[[str], None]:
        """Give a function that brings back a host that was taken off."""
        pytest.skip("the tests of this connector have no means to give a host back")

    @pytest.fixture
    def outputs(self) -> Callable[[str], Path]:
        """Give a function from an attempt's UUID to the folder that holds its out.<rank> and err.<rank>."""
        pytest.skip("the tests of this connector cannot see the output of its jobs")

    @pytest.fixture
    def workplace(self, tmp_path: Path) -> Path:
        """Give a folder that the tests and the jobs can write to; open to others where jobs run as another user."""
        return tmp_path

    @pytest.fixture
    def bench(self, connect: Callable[[], Connector], workplace: Path) -> Iterator[Bench]:
        """Give the connector under test with its tools; cancels at the end what the test left."""
        bench = Bench(connect, workplace, self.patience)
        yield bench
        bench.clear()
