"""Hosts of a real Slurm pool are measured by tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.connectors.measured_hosts import measure_two_hosts
from tests.testbed.nursery import QuickSite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pool


def test_hosts_and_their_network_are_measured(tmp_path: Path) -> None:
    with QuickSite("slurm", scale=0.02) as site, site.client() as client:
        measure_two_hosts(site, client, tmp_path)
