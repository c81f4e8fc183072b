"""A spool of the HTCondor connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched_condor.spool import CondorAttemptFolders

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def attempts(tmp_path: Path) -> CondorAttemptFolders:
    attempts = CondorAttemptFolders(tmp_path / "spool")
    attempts.prepare()
    return attempts
