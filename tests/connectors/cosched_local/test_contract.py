"""The local connector keeps the contract of all connectors."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract import ConnectorContract, SharedDevicesContract, SharedHostsContract
from cosched_local import LocalConnector

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.daemon


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def connect(spool: Path) -> Callable[[], LocalConnector]:
    clusters = {"delft": ["host01", "host02"], "leiden": ["host04"]}
    return lambda: LocalConnector({"hosts": 4, "spool": str(spool), "grace": 0.2, "beside": 2, "clusters": clusters})


class TestContract(ConnectorContract):
    patience = 60.0
    quiet = 0.3
    clusters = MappingProxyType({"host01": "delft", "host02": "delft", "host04": "leiden"})

    @pytest.fixture
    def connect(self, connect: Callable[[], LocalConnector]) -> Callable[[], LocalConnector]:
        return connect

    @pytest.fixture
    def take_host(self, spool: Path) -> Callable[[str], None]:
        return lambda name: (spool / "offline" / name).touch()

    @pytest.fixture
    def give_host(self, spool: Path) -> Callable[[str], None]:
        return lambda name: (spool / "offline" / name).unlink()

    @pytest.fixture
    def outputs(self, spool: Path) -> Callable[[str], Path]:
        return lambda attempt: spool / "attempts" / attempt


class TestSharedHosts(SharedHostsContract, SharedDevicesContract):
    """Two slots of eight cores, whatever the machine has."""

    patience = 60.0
    quiet = 0.3

    @pytest.fixture
    def connect(self, spool: Path) -> Callable[[], LocalConnector]:
        size = {"hosts": 2, "cores": 8, "memory": "8G", "gpus": 4}
        return lambda: LocalConnector({**size, "spool": str(spool), "grace": 0.2})
