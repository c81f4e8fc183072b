"""Programs that are launched once on a real HTCondor pool."""

from __future__ import annotations

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from tests.connectors.parallel_programs import LauncherAgentTests, ParallelProgramTests

pytestmark = pytest.mark.pool


class TestParallelPrograms(ParallelProgramTests, LauncherAgentTests):
    pass
