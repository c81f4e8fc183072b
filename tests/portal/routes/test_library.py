from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.portal.makers import Portal, portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Portal]:
    with portal(tmp_path) as here:
        yield here


def got(here: Portal, path: str) -> Any:
    return here.person("ann").client.get(f"/api/v1/{path}")


def test_a_limit_that_is_none_is_null(here: Portal) -> None:
    found = {entry["name"]: entry for entry in got(here, "applications").json()}
    assert (found["halving"]["most"], found["plain"]["most"]) == (8, None)
    assert found["halving"]["parameters"] == [
        {"name": "work", "type": "number", "default": 80.0, "min": 1.0, "max": 1e6, "choices": [], "help": ""}
    ]


@pytest.mark.parametrize(
    "path",
    [
        "models/secrets/x",
        "models/applications/..%2Fjacobi",
        "models/..%2F../x",
        "models/applications/..%2F..%2Fetc%2Fpasswd/curves",
    ],
)
def test_only_the_library_is_reached(here: Portal, path: str) -> None:
    assert got(here, path).status_code == 404


@pytest.mark.parametrize("setting", ["Scale=nan", "Scale=inf", "Scale=x", "Scale", "Scael=1", "=1"])
def test_parameters_are_checked(here: Portal, setting: str) -> None:
    answer = got(here, f"models/applications/jacobi_measured/curves?set={setting}")
    assert (answer.status_code, "\n" in answer.json()["detail"]) == (422, False)
