from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = [pytest.mark.daemon, pytest.mark.slow]


def test_the_demonstration_runs_from_end_to_end(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "demo", "--tasks", "8", "--scale", "0.02", "--seed", "3"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(root)},
        timeout=500,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "deadlines met" in done.stdout
    figures = json.loads((tmp_path / "demo-output" / "figures-local.json").read_text())
    assert figures["makespans"]["cosched"] == figures["makespan"] >= 0.9 * figures["bound"]  # runs differ from models
    assert set(figures["makespans"]) == {"cosched", "fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated"}
    ElementTree.fromstring((tmp_path / "demo-output" / "gantt-local.svg").read_text())
