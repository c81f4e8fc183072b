"""Programs that are launched once on local slots."""

from __future__ import annotations

from tests.connectors.parallel_programs import ParallelProgramTests


class TestParallelPrograms(ParallelProgramTests):
    pass
