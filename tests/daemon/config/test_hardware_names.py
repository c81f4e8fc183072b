from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.cli.main import run
from cosched.daemon.config.hardware_names import unknown_hardware
from cosched.daemon.config.loading import load_configuration

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

WRONG = """\
[domain]
hardware = "x86_64_gigabyt"
[connector]
kind = "simulated"
[connector.simulated]
hosts = { big_node = 4, sun_ultra_10 = 4 }
[planning]
contention = { epyc = 0.1, big_node = 0.1, sun_ultra_5 = 0.1, default = 0.08 }
"""


def test_hardware_that_the_library_does_not_have_is_told_before_a_user_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cosched.toml"
    file.write_text(WRONG)
    assert run(["config", "show", "--config", str(file)]) == 0
    domain, host, slowdown = capsys.readouterr().err.splitlines()
    assert domain.startswith("cosched: domain.hardware: models foretell nothing on 'x86_64_gigabyt' until")
    assert ": did you mean x86_64_gigabit" in domain
    assert host.startswith("cosched: connector.simulated.hosts: models foretell nothing on 'big_node' until")
    assert slowdown.startswith("cosched: planning.contention: 'epyc' is no hardware of the library")


def test_hardware_of_a_folder_of_the_sites_own_and_the_defaults_are_known(tmp_path: Path) -> None:
    assert unknown_hardware(load_configuration(None, {})) == []
    (tmp_path / "epyc_64.hmcl").write_text("")
    file = tmp_path / "cosched.toml"
    file.write_text('[models]\nfolders = ["."]\n[domain]\nhardware = "epyc_64"\n')
    assert unknown_hardware(named := load_configuration(file, {})) == []
    assert named.domain.named_hardware == "epyc_64"
    assert load_configuration(None, {}).domain.named_hardware == ""  # nobody said so of these hosts
