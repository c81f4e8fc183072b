from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Role
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

API = "/api/v1"


def test_a_notice_is_written_listed_and_removed_and_the_audit_log_says_so(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief, ann = here.person("chief", Role.ADMINISTRATOR), here.person("ann")
        headers = {"X-CSRF-Token": chief.csrf()}
        wanted = {"text": "no power on Friday", "until": here.access.now() + 99}
        made = chief.client.post(f"{API}/notices", json=wanted, headers=headers)
        assert (made.status_code, made.json()["by"]) == (201, "chief")
        assert ann.client.get(f"{API}/notices").json() == [made.json()]
        refused = ann.client.post(f"{API}/notices", json=wanted, headers={"X-CSRF-Token": ann.csrf()})
        assert refused.status_code == 403
        assert chief.client.delete(f"{API}/notices/{made.json()['id']}", headers=headers).status_code == 204
        assert ann.client.get(f"{API}/notices").json() == []
        log = [(entry.action, entry.detail) for entry in here.access.audit_log(2, 0)]
        assert [action for action, _ in log] == ["notice removed", "notice written"]
        assert all("no power on Friday" in detail for _, detail in log)


@pytest.mark.parametrize("path", ["configuration", "health"])
def test_configuration_and_health_are_for_administrators(tmp_path: Path, path: str) -> None:
    with portal(tmp_path) as here:
        assert here.person("ann", Role.OPERATOR).client.get(f"{API}/{path}").status_code == 403
        assert here.person("chief", Role.ADMINISTRATOR).client.get(f"{API}/{path}").status_code == 200


def test_no_secret_of_the_configuration_is_answered(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        found = here.person("chief", Role.ADMINISTRATOR).client.get(f"{API}/configuration").json()
        entries = {each["key"]: each for each in found}
        assert (entries["planning.seed"]["value"], entries["planning.seed"]["origin"][-4:]) == ("7", "toml")
        assert entries["connector.own.password"] == {
            "key": "connector.own.password",
            "value": "",
            "origin": "environment",
            "secret": True,
        }
