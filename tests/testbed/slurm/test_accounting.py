"""What the testbed's slurmdbd is made of; that it works is shown by the tests that need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.testbed.slurm.accounting import prefix, prepare_accounting
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.pool, pytest.mark.xdist_group("slurm")]


def test_each_cluster_gets_a_database_and_settings_of_its_own(tmp_path: Path) -> None:
    try:
        root = prefix()
    except PackageError as error:
        pytest.skip(f"Debian's slurmdbd cannot be had here: {error}")
    programs, environment, settings = prepare_accounting(tmp_path, 15000)
    assert all(program.is_file() and root in program.parents for program in programs.values())
    assert environment["MYSQL_UNIX_PORT"] == f"{tmp_path}/database/socket"
    assert "AccountingStoragePort=15000\n" in settings
    assert (tmp_path / "database" / "mysql" / "proc.frm").is_file()
    assert (tmp_path / "slurmdbd.conf").stat().st_mode & 0o777 == 0o600  # slurmdbd refuses another one
