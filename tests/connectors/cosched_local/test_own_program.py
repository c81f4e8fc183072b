"""Programs are watched in tasks on local slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.measurement.writing import MeasuredMachine
from tests.connectors.own_program import from_source_to_task
from tests.measurement.makers import FACTS, made_up_samples
from tests.testbed.nursery import QuickSite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.daemon
def test_a_program_goes_from_its_source_to_a_task_with_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = tmp_path / "node_a.hmcl"
    measured.write_text(MeasuredMachine("node_a", FACTS, made_up_samples()).hmcl())
    with QuickSite("local", scale=0.02, hosts=2) as site, site.client() as client:
        from_source_to_task(site, client, monkeypatch, capsys, measured)
