from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from cosched.access.authentication import COOKIE
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


_CHANGES = {"lead": {"drained": [1]}, "resize": {"least": 1}}  # by the end of a path; of all others the priority


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The API's own description; whoever reads it, it is the same."""
    with portal(tmp_path_factory.mktemp("described")) as here:
        return here.person("ann").client.get("/api/v1/openapi.json").json()


def test_every_route_of_the_api_says_which_credentials_it_takes(described: Any) -> None:
    schemes = described["components"]["securitySchemes"]
    assert (schemes["token"]["scheme"], schemes["session"]["name"]) == ("bearer", COOKIE)
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            taken = operation.get("security", [])
            assert bool(taken) == path.startswith("/api/"), path
            assert all(set(each) <= set(schemes) for each in taken)
            # A browser's cookie alone changes nothing.
            assert ({"session": []} in taken) == (bool(taken) and method == "get"), (method, path)


def test_what_it_says_of_credentials_is_so(tmp_path: Path, described: Any) -> None:
    with portal(tmp_path / "again") as here:
        nobody = TestClient(here.app, base_url="http://127.0.0.1", client=("127.0.0.1", 1))
        for path, operations in described["paths"].items():
            for method, operation in operations.items():
                asked = path.replace("{stream}", "out").replace("{kind}", "hardware")
                answer = nobody.request(method, asked, json={} if method in ("post", "patch") else None)
                assert (answer.status_code == 401) == ("security" in operation), (method, path, answer.text)


def test_another_users_task_is_not_there_whatever_is_asked(tmp_path: Path, described: Any) -> None:
    with portal(tmp_path / "again") as here:
        ann, bob = here.person("ann"), here.person("bob")
        ann.submit()
        there = [path for path in described["paths"] if "{task_id}" in path]
        assert len(there) >= 8
        for path in there:
            for method in described["paths"][path]:
                asked = path.replace("{task_id}", "1").replace("{stream}", "out")
                change = _CHANGES.get(path.rpartition("/")[2], {"priority": 7})
                body = change if method in ("post", "patch") else None
                answer = bob.client.request(method, asked, json=body, headers={"X-CSRF-Token": bob.csrf()})
                assert (answer.status_code, "no task '1'" in answer.text) == (404, True), (method, path, answer.text)
        assert ann.client.get("/api/v1/tasks/1").json()["state"] == "queued"


def test_links_of_a_submission_lead_to_routes_that_are_there(described: Any) -> None:
    links = described["paths"]["/api/v1/tasks"]["post"]["responses"]["201"]["links"]
    assert set(links) == {"show", "explain", "output", "plans", "cancel"}
    for link in links.values():
        _, paths, path, method = link["operationRef"].split("/")
        assert paths == "paths"
        assert method in described["paths"][path.replace("~1", "/")]
