from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.testbed.software.slapd import directory

if TYPE_CHECKING:
    from pathlib import Path


def test_it_refuses_what_its_schema_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "none.schema").write_text("")
    ldif = "dn: o=x\nobjectClass: organization\no: x\nnobody: knows\n"
    with (
        pytest.raises(subprocess.CalledProcessError) as refused,
        directory(tmp_path, tmp_path / "none.schema", "o=x", ldif),
    ):
        pass
    assert "nobody" in refused.value.stderr
