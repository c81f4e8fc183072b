"""A spool of the HTCondor connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched_condor.attempts import Attempts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    attempts = Attempts(tmp_path / "spool")
    attempts.prepare()
    return attempts
