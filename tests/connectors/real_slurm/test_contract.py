"""The Slurm connector on a real cluster: the contract of all connectors."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract import ConnectorContract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched_slurm import SlurmConnector
    from tests.testbed.slurm.cluster import SlurmCluster


pytestmark = pytest.mark.pool


class TestContract(ConnectorContract):
    patience = 90.0
    quiet = 1.5
    clusters = MappingProxyType({"node01": "leaf1", "node02": "leaf1", "node03": "leaf1", "node04": "leaf2"})

    @pytest.fixture
    def connect(self, connect: Callable[[], SlurmConnector]) -> Callable[[], SlurmConnector]:
        return connect

    @pytest.fixture
    def take_host(self, cluster: SlurmCluster) -> Callable[[str], None]:
        return cluster.take_host

    @pytest.fixture
    def give_host(self, cluster: SlurmCluster) -> Callable[[str], None]:
        return cluster.give_host

    @pytest.fixture
    def outputs(self, spool: Path) -> Callable[[str], Path]:
        return lambda attempt: spool / attempt
