from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from cosched.connector.spool_pruning import SpoolPruner, prune_spool

if TYPE_CHECKING:
    from pathlib import Path


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


def test_the_manager_is_asked_only_when_it_is_time(tmp_path: Path) -> None:
    asked = []

    def live() -> set[str]:
        asked.append(1)
        return set()

    assert not SpoolPruner(tmp_path / "none", 1.0, live).look()
    pruning = SpoolPruner(tmp_path, 1.0, live)
    assert pruning.look()
    assert not pruning.look()
    assert len(asked) == 1
