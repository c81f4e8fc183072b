from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.client.configured_address import configured_address

if TYPE_CHECKING:
    from pathlib import Path


def test_where_the_configuration_says(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert configured_address(home) == f"unix:{tmp_path}/.local/state/cosched/cosched.sock"
    assert configured_address(home | {"COSCHED_SERVER__LISTEN": "127.0.0.1:8080"}) == "http://127.0.0.1:8080"
    file = tmp_path / "site.toml"
    file.write_text('[domain]\nstate = "/var/lib/cosched"\n')
    assert configured_address(home | {"COSCHED_CONFIG": str(file)}) == "unix:/var/lib/cosched/cosched.sock"
