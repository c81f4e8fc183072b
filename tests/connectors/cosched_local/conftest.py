"""A local connector of four slots, with the tools of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract import Bench
from cosched_local import LocalConnector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def connect(spool: Path) -> Callable[[], LocalConnector]:
    return lambda: LocalConnector({"hosts": 4, "spool": str(spool), "grace": 0.2, "beside": 2})


@pytest.fixture
def bench(connect: Callable[[], LocalConnector], tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(connect, tmp_path, 90.0)
    yield bench
    bench.clear()
