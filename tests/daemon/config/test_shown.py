from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.daemon.config.loading import ConfigurationValue, read_configuration
from cosched.daemon.config.shown import shown_values

if TYPE_CHECKING:
    from pathlib import Path


def test_every_key_has_its_value_and_origin(tmp_path: Path) -> None:
    file = tmp_path / "cosched.toml"
    file.write_text('[planning]\nseed = 7\n[access]\nlongest_token = "30d"\n')
    configuration, values = read_configuration(file, {"COSCHED_DOMAIN__NAME": "here"})
    shown = {each.key: each for each in shown_values(values)}
    assert configuration.planning.seed == 7
    assert (shown["planning.seed"].value, shown["planning.seed"].origin) == ("7", str(file))
    assert (shown["domain.name"].value, shown["domain.name"].origin) == ('"here"', "environment COSCHED_DOMAIN__NAME")
    assert (shown["planning.nice"].value, shown["planning.nice"].origin) == ("10", "default")
    assert shown["access.longest_token"].value == "2592000.0"
    assert not any(each.secret for each in shown.values())


@pytest.mark.parametrize(
    ("key", "value", "secret"),
    [
        ("connector.own.password", "hunter2", True),
        ("connector.own.API_KEY", "hunter2", True),
        ("connector.own.token", "hunter2", True),
        ("connector.own.url", "https://ann:hunter2@example.org/", True),
        ("connector.own.urls", ["https://example.org/", "https://ann:hunter2@example.org/"], True),
        ("connector.own.url", "https://example.org:8080/a@b", False),
        ("notify.password_file", "/etc/cosched/password", False),
        ("access.longest_token", 3.0, False),
    ],
)
def test_of_a_secret_only_that_it_is_set_is_shown(key: str, value: Any, secret: bool) -> None:
    (shown,) = shown_values([ConfigurationValue(key, value, "environment")])
    assert shown.secret is secret
    assert (shown.value == "") is secret
    assert secret == ("hunter2" not in str(shown) and "hunter2" in str(value))
