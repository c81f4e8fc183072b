"""Hosts of a real Slurm pool are measured by tasks, and programs watched in tasks there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.connectors.measured_hosts import measure_two_hosts
from tests.connectors.own_program import from_source_to_task
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pool


def test_a_program_goes_from_its_source_to_a_task_with_a_range_on_measured_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with QuickSite("slurm", scale=0.02, hosts=2) as site, site.client() as client:
        measured = measure_two_hosts(site, client, tmp_path, monkeypatch)
        from_source_to_task(site, client, monkeypatch, capsys, measured)
