"""Programs that are launched once on a real Slurm cluster."""

from __future__ import annotations

import pytest

from tests.connectors.parallel_programs import ParallelProgramTests

pytestmark = pytest.mark.pool


class TestParallelPrograms(ParallelProgramTests):
    pass
