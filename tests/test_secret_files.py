from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.secret_files import check_private, read_secret

if TYPE_CHECKING:
    from pathlib import Path


def test_a_secret_is_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("word \nmore\n")
    path.chmod(0o640)
    assert read_secret(path, "the password file") == "word"


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o644])
def test_what_everybody_can_read_is_no_secret(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret"
    path.write_text("word")
    path.chmod(mode)
    with pytest.raises(UserError, match=f"the key {path} can be read by everybody on this machine: chmod o= {path}"):
        check_private(path, "the key")


@pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"\n", "is empty"), (b"\xff", "cannot be read")])
def test_what_holds_no_secret(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(UserError, match=message):
        read_secret(path, "the token file")
    with pytest.raises(UserError, match=r"the token file .* cannot be read"):
        read_secret(tmp_path / "none", "the token file")
