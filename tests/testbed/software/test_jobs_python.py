from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.testbed.software import jobs_python
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the tests' Python where only its owner may come."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    file = folder / "python"
    file.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(file))
    return file


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str) -> str:
    """Have a Python of a version in the place of Debian's."""
    file = folder / "python3"
    file.write_text(f"#!/bin/sh\necho {version}\n")
    file.chmod(0o755)
    monkeypatch.setattr(jobs_python, "_DEBIANS", str(file))
    return str(file)


@pytest.mark.usefixtures("closed")
def test_debians_python_stands_in_where_it_has_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stand_in(monkeypatch, tmp_path, "{}.{}".format(*sys.version_info))
    assert jobs_python.open_python() == file


def test_where_it_has_another_version_both_are_named(
    closed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = stand_in(monkeypatch, tmp_path, "2.7")
    with pytest.raises(PackageError, match=f"{closed} is closed to others, and {file} is 2.7"):
        jobs_python.open_python()


def test_packages_that_nobody_else_may_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    with pytest.raises(PackageError, match="is closed to others"):
        jobs_python.jobs_python()
