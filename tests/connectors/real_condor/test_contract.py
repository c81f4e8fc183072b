"""The HTCondor connector on a real pool: the contract of all connectors."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector.contract import ConnectorContract
from cosched.connector.contract.bench import ContractBase
from tests.connectors.real_condor.conftest import SITES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched_condor import CondorConnector
    from tests.testbed.condor.pool import CondorPool


pytestmark = pytest.mark.pool


class OnThePool(ContractBase):
    patience = 90.0
    quiet = 1.0

    @pytest.fixture
    def connect(self, connect: Callable[[], CondorConnector]) -> Callable[[], CondorConnector]:
        return connect

    @pytest.fixture
    def workplace(self, shared: Path) -> Path:
        folder = shared / "work"
        folder.mkdir()
        folder.chmod(0o1777)
        return folder

    @pytest.fixture
    def take_host(self, pool: CondorPool) -> Callable[[str], None]:
        return pool.take_host

    @pytest.fixture
    def give_host(self, pool: CondorPool) -> Callable[[str], None]:
        return pool.give_host

    @pytest.fixture
    def outputs(self, spool: Path) -> Callable[[str], Path]:
        return lambda attempt: spool / attempt


class TestContract(OnThePool, ConnectorContract):
    """The whole contract."""

    clusters = MappingProxyType(SITES)
