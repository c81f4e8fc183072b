from __future__ import annotations

from pathlib import Path

import pytest

from cosched.errors import UserError
from cosched.paths import configuration_file, default_socket, default_state


def test_state_follows_the_xdg_specification() -> None:
    assert default_state({"HOME": "/h"}) == Path("/h/.local/state/cosched")
    assert default_state({"HOME": "/h", "XDG_STATE_HOME": "/s"}) == Path("/s/cosched")
    assert default_state({"HOME": "/h", "XDG_STATE_HOME": "relative"}) == Path("/h/.local/state/cosched")
    assert default_socket({"HOME": "/h"}) == "unix:/h/.local/state/cosched/cosched.sock"


def test_the_users_configuration_is_found(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "cosched" / "cosched.toml"
    file.parent.mkdir(parents=True)
    file.touch()
    assert configuration_file({"HOME": str(tmp_path)}) == file
    assert configuration_file({"HOME": str(tmp_path), "COSCHED_CONFIG": "/named.toml"}) == Path("/named.toml")


def test_without_a_home_folder_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(UserError, match="set HOME"):
        configuration_file({})
