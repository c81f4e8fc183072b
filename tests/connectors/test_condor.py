"""The HTCondor connector on a real pool: the contract of all connectors, and what only HTCondor can do to us."""

from __future__ import annotations

import os
import signal
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState
from cosched.connector.contract import Bench, ConnectorContract
from cosched_condor import CondorConnector
from tests.testbed.condor_pool import CondorPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.pool


@pytest.fixture(scope="module")
def pool() -> Iterator[CondorPool]:
    with CondorPool(hosts=4) as pool:
        yield pool


@pytest.fixture
def shared(pool: CondorPool) -> Path:
    """A folder of the test's own that the pool's user may write to."""
    folder = pool.spool / uuid.uuid4().hex
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def spool(shared: Path) -> Path:
    folder = shared / "spool"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def connect(pool: CondorPool, spool: Path) -> Callable[[], CondorConnector]:
    return lambda: CondorConnector({"config": str(pool.config), "spool": str(spool)})


class TestContract(ConnectorContract):
    patience = 30.0
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
