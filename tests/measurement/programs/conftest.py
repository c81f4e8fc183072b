"""Libraries that watch programs are compiled once for all tests here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `XDG_CACHE_HOME`."""
    return tmp_path_factory.mktemp("libraries")
