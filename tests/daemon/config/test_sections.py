from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from cosched.daemon.config.sections import Configuration

if TYPE_CHECKING:
    from pathlib import Path


def test_the_table_of_the_kind_in_force_is_handed_over() -> None:
    values = {"connector": {"kind": "condor", "condor": {"spool": "/x"}}}
    assert Configuration.model_validate(values).connector.table == {"spool": "/x"}


def test_terms_of_loans_may_differ_for_an_application_or_a_user() -> None:
    values = {"elastic": {"applications": {"render": {"settle": "20s"}}, "users": {"ann": {"lending": False}}}}
    elastic = Configuration.model_validate(values).elastic
    assert (elastic.applications["render"].settle, elastic.applications["render"].payback) == (20.0, None)
    assert elastic.users["ann"].lending is False
    refused: list[dict[str, Any]] = [
        {"users": {"an n": {}}},
        {"users": {"ann": {"grace": "11m"}}},
        {"applications": {"a": {"grace": "1h"}}},
        {"grace": "11m"},
        {"applications": {"a": {"payback": -1}}},
    ]
    for wrong in refused:
        with pytest.raises(ValidationError):
            Configuration.model_validate({"elastic": wrong})


def test_contention_is_stated_by_class_of_hosts() -> None:
    values = {"planning": {"contention": {"default": 0.05, "node_a": 1}}}
    planning = Configuration.model_validate(values).planning
    assert planning.contention == {"default": 0.05, "node_a": 1.0}
    assert Configuration.model_validate({}).planning.contention == {}


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("planning", "contention", {"default": -0.1}),
        ("planning", "contention", {"default": 3.5}),
        ("planning", "contention", {"default": "8 %"}),
        ("planning", "contention", 0.1),
        ("domain", "name", ""),
        ("domain", "name", "x" * 65),
        ("domain", "name", "x\n"),
        ("domain", "state", ""),
        ("database", "url", ""),
        ("objective", "makespan", -1),
        ("objective", "makespan", float("inf")),
        ("planning", "share", 0),
        ("planning", "nice", 20),
        ("planning", "seed", -1),
        ("dispatch", "attempts", 0),
        ("dispatch", "grace", "soon"),
        ("server", "listen", "127.0.0.1:70000"),
        ("agent", "advise_shortest", 1000.0),
        ("agent", "advise_lifetime", 60.0),
        ("models", "folders", "models"),
    ],
)
def test_what_is_out_of_bounds_is_refused(section: str, key: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Configuration.model_validate({section: {key: value}})


@pytest.mark.parametrize(
    ("server", "secret"),
    [
        ("smtp://mail.example.org:25", False),
        ("smtp+starttls://mail.example.org:587", True),
        ("smtps://mail.example.org", True),
        ("smtp://localhost", True),
        ("smtp://127.0.0.1:25", True),
    ],
)
def test_a_password_never_goes_to_another_mail_server_unencrypted(tmp_path: Path, server: str, secret: bool) -> None:
    password = tmp_path / "password"
    password.touch(mode=0o600)
    values = {"notify": {"smtp": server, "user": "cosched", "password_file": str(password)}}
    if secret:
        assert Configuration.model_validate(values).notify.smtp == server
    else:
        with pytest.raises(ValidationError, match=r"write smtps:// or smtp\+starttls://"):
            Configuration.model_validate(values)
