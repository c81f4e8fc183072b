"""Groups as jobs of the parallel universe, all of their hosts or none: the contract, and what is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched_condor import CondorConnector
from tests.connectors.real_condor import test_contract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.testbed.condor_pool import CondorPool

pytestmark = pytest.mark.pool


@pytest.fixture
def connect(pool: CondorPool, spool: Path) -> Callable[[], CondorConnector]:
    return lambda: CondorConnector({"config": str(pool.config), "spool": str(spool), "groups": "parallel"})


class TestContract(test_contract.TestContract):
    patience = 60.0
