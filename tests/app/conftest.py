"""A daemon of its own for each test; its clock stands, so that no deadline comes nearer on a busy machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.makers import Daemon, StillClock, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Daemon]:
    with daemon(tmp_path, clock=StillClock()) as running:
        yield running
