"""The settings of the Slurm connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched_slurm.slurm_settings import SlurmSettings

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_left_out_has_a_default() -> None:
    settings = SlurmSettings.read({})
    assert settings.spool.is_absolute()
    assert (settings.config, settings.bin, settings.completions) == (None, None, None)
    assert (settings.partition, settings.account, settings.qos, settings.host_class) == ("", "", "", "")


def test_all_keys_are_read(tmp_path: Path) -> None:
    config = tmp_path / "slurm.conf"
    config.touch()
    table = {
        "spool": str(tmp_path),
        "config": str(config),
        "bin": str(tmp_path),
        "partition": "p",
        "account": "a",
        "qos": "q",
        "host_class": "class-",
        "cluster": "site-",
        "completions": "/var/log/slurm",
        "poll": 5,
        "timeout": 7,
    }
    settings = SlurmSettings.read(table)
    shown = {key: getattr(settings, key) for key in table}
    assert {key: value if isinstance(value, float) else str(value) for key, value in shown.items()} == {
        key: float(value) if isinstance(value, int) else value for key, value in table.items()
    }


def test_an_unknown_key_is_named_beside_the_valid_ones() -> None:
    with pytest.raises(UserError, match=r"'spol'.*spool.*timeout"):
        SlurmSettings.read({"spol": "/x"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spool", "relative"),
        ("spool", 3),
        ("spool", "/a\n#SBATCH --uid=0"),
        ("spool", "/$(id)"),
        ("spool", "/%j"),
        ("config", "/no/such/file"),
        ("bin", "/no/such/folder"),
        ("partition", 1),
        ("partition", "a\nb"),
        ("account", "-h"),
        ("qos", "$(id)"),
        ("host_class", True),
        ("cluster", True),
        ("completions", "x"),
        ("poll", 0),
        ("poll", float("nan")),
        ("timeout", "30"),
        ("timeout", True),
    ],
)
def test_a_bad_value_is_refused_with_its_key(key: str, value: object) -> None:
    with pytest.raises(UserError, match=key):
        SlurmSettings.read({key: value})
