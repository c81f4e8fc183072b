from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from cosched.access import Role, Scope
from cosched.access.principals import Principal
from cosched.access.tokens import TokenGrant
from cosched.api.documents import TaskRequest
from cosched.portal.application import build_application
from tests.daemon.makers import access_to, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANN = Principal("ann", Role.USER)


@pytest.fixture
def people(tmp_path: Path) -> Iterator[dict[str, TestClient]]:
    """The API as ann, bob and an operator see it; ann has a task that waits."""
    with daemon(tmp_path) as running:
        access = access_to(running.store)
        app = build_application(running.services, access)
        running.services.submissions.submit(ANN, [TaskRequest(application="halving")], "", "")
        now, found = time.time(), {}
        for name, role in (("ann", Role.USER), ("bob", Role.USER), ("olga", Role.OPERATOR)):
            token, _ = access.tokens.create(TokenGrant(name, role, {Scope.READ}), now, now + 100)
            found[name] = TestClient(
                app, base_url="http://localhost", client=("127.0.0.1", 1), headers={"Authorization": f"Bearer {token}"}
            )
        yield found


def test_another_users_task_has_no_plans_and_no_lines_in_the_log(people: dict[str, TestClient]) -> None:
    seen = {name: client.get("/api/v1/tasks/1/plans").status_code for name, client in people.items()}
    assert seen == {"ann": 200, "bob": 404, "olga": 200}
    lines = {name: [line["task"] for line in client.get("/api/v1/log").json()] for name, client in people.items()}
    assert ("1" in lines["ann"], "1" in lines["bob"], "1" in lines["olga"]) == (True, False, True)


@pytest.mark.parametrize("path", ["runs?since=-1", "runs?since=nan", "runs?since=x", "log?limit=0", "log?limit=1001"])
def test_what_cannot_be_asked_is_said_so(people: dict[str, TestClient], path: str) -> None:
    answer = people["ann"].get(f"/api/v1/{path}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json")


def test_the_use_of_hosts_is_told_by_class_or_user_and_others_have_no_names(people: dict[str, TestClient]) -> None:
    found = {
        name: client.get("/api/v1/utilisation", params={"last": 3600, "by": "user"}).json()
        for name, client in people.items()
    }
    (hosts,) = found["ann"]["resources"]
    assert (hosts["resource"], hosts["total"], hosts["now"]) == ("hosts", 16.0, 0.0)
    assert hosts["planned"] > 0.0
    names = {name: [group["name"] for group in each["resources"][0]["groups"]] for name, each in found.items()}
    assert names == {"ann": ["ann"], "bob": ["others"], "olga": ["ann"]}
    assert found["ann"]["since"] == pytest.approx(found["ann"]["time"] - 3600)
    assert len(hosts["groups"][0]["amounts"]) > found["ann"]["past_parts"]


@pytest.mark.parametrize("query", ["last=59", "last=nan", "last=1e10", "by=group"])
def test_a_use_that_cannot_be_told_is_refused(people: dict[str, TestClient], query: str) -> None:
    assert people["ann"].get(f"/api/v1/utilisation?{query}").status_code == 422


PATHS = ("tasks/1/plans", "plan/search", "runs", "accuracy", "log", "applications", "models")
MODEL = "models/applications/jacobi"


@pytest.mark.parametrize("path", [*PATHS, MODEL, f"{MODEL}/curves?hosts=2"])
def test_what_somebody_has_is_not_sent_again(people: dict[str, TestClient], path: str) -> None:
    first = people["ann"].get(f"/api/v1/{path}")
    assert first.status_code == 200
    again = people["ann"].get(f"/api/v1/{path}", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_nobody_looks_without_the_scope_to_read(people: dict[str, TestClient]) -> None:
    for path in PATHS:
        assert people["ann"].get(f"/api/v1/{path}", headers={"Authorization": "Bearer x"}).status_code == 401
