"""The simulated connector keeps the contract of all connectors, with somebody to play its hosts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract import ConnectorContract, SharedHostsContract
from cosched_simulated import SimulatedConnector
from tests.connectors.cosched_simulated.player import UNENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def play() -> Iterator[Callable[[Path | str], None]]:
    """Give a function that has the hosts of another pool played; of none where the text is empty."""
    command = [sys.executable, "-m", "tests.connectors.cosched_simulated.player"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as player:

        def tell(spool: Path | str) -> None:
            assert player.stdin is not None
            assert player.stdout is not None
            print(spool, file=player.stdin, flush=True)
            assert player.stdout.readline() == "\n"

        yield tell
        player.communicate(timeout=240)
    assert player.returncode == 0


@pytest.fixture
def spool(tmp_path: Path, play: Callable[[Path | str], None]) -> Iterator[Path]:
    play(tmp_path / "spool")
    yield tmp_path / "spool"
    play("")


class TestContract(ConnectorContract):
    patience = 60.0
    quiet = 0.3

    @pytest.fixture
    def connect(self, spool: Path) -> Callable[[], SimulatedConnector]:
        return lambda: SimulatedConnector({"hosts": 4, "spool": str(spool), **UNENDING})

    @pytest.fixture
    def take_host(self, spool: Path) -> Callable[[str], None]:
        return lambda name: (spool / "offline" / name).touch()

    @pytest.fixture
    def give_host(self, spool: Path) -> Callable[[str], None]:
        return lambda name: (spool / "offline" / name).unlink()

    @pytest.fixture
    def outputs(self, spool: Path) -> Callable[[str], Path]:
        return lambda attempt: spool / "attempts" / attempt


class TestSharedHosts(SharedHostsContract):
    patience = 60.0
    quiet = 0.3

    @pytest.fixture
    def connect(self, spool: Path) -> Callable[[], SimulatedConnector]:
        size = {"hosts": 2, "cores": 8, "memory": "8G"}
        return lambda: SimulatedConnector({**size, "spool": str(spool), **UNENDING})
