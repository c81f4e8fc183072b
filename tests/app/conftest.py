"""A daemon of its own for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.makers import Daemon, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Daemon]:
    with daemon(tmp_path) as running:
        yield running
