"""Programs that are launched once on local slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.connectors.parallel_programs import LauncherAgentTests, ParallelProgramTests

if TYPE_CHECKING:
    from cosched.connector.contract import Bench

pytestmark = pytest.mark.daemon


class TestParallelPrograms(ParallelProgramTests, LauncherAgentTests):
    @pytest.fixture
    def bench(self, bench: Bench) -> Bench:
        bench.patience = 90.0  # ranks ask for messages all the time: on a busy machine they start one after another
        return bench
