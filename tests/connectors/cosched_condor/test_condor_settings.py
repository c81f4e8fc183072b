"""The settings of the HTCondor connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched_condor.condor_settings import CondorSettings

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_left_out_has_a_default() -> None:
    settings = CondorSettings.read({})
    assert settings.spool.is_absolute()
    assert (settings.config, settings.schedd, settings.host_class) == (None, "", "")
    assert not settings.spooled


def test_all_keys_are_read(tmp_path: Path) -> None:
    config = tmp_path / "condor_config"
    config.touch()
    tokens = _tokens(tmp_path, 0o600)
    table = {
        "spool": str(tmp_path),
        "config": str(config),
        "schedd": "s@h",
        "pool": "cm:9618",
        "tokens": str(tokens),
        "files": "spooled",
        "static_slots": "hosts",
        "host_class": "Kind",
        "cluster_attribute": "Site",
        "request_gpus": 2,
        "job_lease": 90,
        "keep_claim": 0,
        "timeout": 5,
    }
    assert CondorSettings.read(table) == CondorSettings(
        tmp_path,
        config,
        "cm:9618",
        "s@h",
        tokens,
        "spooled",
        "pinned",
        "hosts",
        "Kind",
        "Site",
        90,
        0,
        5.0,
        7.0,
        "",
        1,
        0,
        0,
        2,
    )


def test_an_unknown_key_is_named_beside_the_valid_ones() -> None:
    with pytest.raises(UserError, match=r"'spol'.*spool.*timeout"):
        CondorSettings.read({"spol": "/x"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spool", "relative"),
        ("spool", 3),
        ("spool", "/a\nqueue 500"),
        ("spool", "/$ENV(HOME)"),
        ("config", "/no/such/file"),
        ("config", ""),
        ("schedd", 1),
        ("schedd", "a\nb"),
        ("host_class", "a b"),
        ("host_class", "a || true"),
        ("cluster_attribute", "a b"),
        ("job_lease", "60"),
        ("job_lease", 1),
        ("keep_claim", -1),
        ("keep_claim", True),
        ("timeout", 0),
        ("timeout", float("nan")),
        ("files", "carried"),
        ("pool", "a\nb"),
        ("tokens", "/no/such/folder"),
        ("accounting_group", "bad group!"),
        ("accounting_group", "group_physics."),
    ],
)
def test_a_bad_value_is_refused_with_its_key(key: str, value: object) -> None:
    with pytest.raises(UserError, match=key):
        CondorSettings.read({key: value})


def test_an_accounting_group_may_be_one_of_another() -> None:
    assert CondorSettings.read({"accounting_group": "group_physics.hep-ex"}).accounting_group == "group_physics.hep-ex"


def test_a_pool_elsewhere_needs_the_name_of_its_scheduler() -> None:
    with pytest.raises(UserError, match="schedd"):
        CondorSettings.read({"pool": "cm:9618"})


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_token_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(UserError, match="chmod 600"):
        CondorSettings.read({"tokens": str(_tokens(tmp_path, mode))})


def test_a_folder_without_tokens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="tokens"):
        CondorSettings.read({"tokens": str(tmp_path)})


def _tokens(place: Path, mode: int) -> Path:
    folder = place / "tokens.d"
    folder.mkdir()
    (folder / "cosched").touch()
    (folder / "cosched").chmod(mode)
    return folder
