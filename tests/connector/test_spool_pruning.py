from __future__ import annotations

import os
import time
import uuid
from typing import TYPE_CHECKING

from cosched.connector.spool_pruning import SpoolPruner, prune_spool

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_only_old_folders_of_attempts_that_do_not_live_go(tmp_path: Path) -> None:
    old, young, live = (str(uuid.uuid4()) for _ in range(3))
    for name in (old, young, live, "work"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "out.0").write_text("x")
    (tmp_path / "events.log").touch()
    for name in (old, live, "work", "events.log"):
        os.utime(tmp_path / name, (1000.0, 1000.0))
    assert prune_spool(tmp_path, 2000.0, {live}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([young, live, "work", "events.log"])


def test_the_manager_is_asked_only_when_it_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def live() -> set[str]:
        asked.append(1)
        return set()

    now = [1000.0]
    monkeypatch.setattr("cosched.connector.spool_pruning.time.monotonic", lambda: now[0])
    without, pruning = SpoolPruner(tmp_path / "none", 1.0, live), SpoolPruner(tmp_path, 1.0, live)
    assert not pruning.look()  # what ended while no daemon was there is to be heard of first
    now[0] += 3600
    assert not without.look()
    assert pruning.look()
    assert not pruning.look()
    assert len(asked) == 1
    now[0] += 3600
    assert pruning.look()


def test_a_folder_stays_for_an_hour_however_soon_it_may_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `keep_days = 0` one went whose end nobody had been told of."""
    new, old = (str(uuid.uuid4()) for _ in range(2))
    for name, age in ((new, 60.0), (old, 3700.0)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, time.time() - age))
    now = [1000.0]
    monkeypatch.setattr("cosched.connector.spool_pruning.time.monotonic", lambda: now[0])
    pruning = SpoolPruner(tmp_path, 0.0, set)
    now[0] += 3600
    assert pruning.look()
    assert [path.name for path in tmp_path.iterdir()] == [new]
