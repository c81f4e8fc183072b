"""Parts of what processes wrote; never anything else than a plain file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import Output
from cosched.connector.spool import output_part, read_output

if TYPE_CHECKING:
    from pathlib import Path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=20), st.integers(-25, 25), st.integers(1, 25))
def test_parts_are_slices(tmp_path: Path, content: bytes, offset: int, limit: int) -> None:
    file = tmp_path / "out.0"
    file.write_bytes(content)
    first = min(offset, len(content)) if offset >= 0 else max(len(content) + offset, 0)
    part = Output(content[first : first + limit], first, len(content))
    assert read_output(file, offset, limit) == output_part(content, offset, limit) == part


def test_a_link_a_pipe_or_nothing_is_not_read(tmp_path: Path) -> None:
    """A job may put anything in the place of its output: it must not make cosched read what its user may not."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "soft").symlink_to(tmp_path / "secret")
    (tmp_path / "hard").hardlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("soft", "hard", "pipe", "absent"):
        assert read_output(tmp_path / name, 0, 10) is None
