from __future__ import annotations

import json
import re

import pytest
from fastapi.testclient import TestClient

from cosched import resources
from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.app.core_access import MistakeError
from cosched.errors import SystemFault
from cosched.portal.application import build_application
from tests.access.memory import Trusting
from tests.portal.test_application import Recorder, services_of

_WORD = re.compile(r"\b(?:cosched|process)_[a-z_]+\b")


@pytest.fixture
def service() -> Recorder:
    return Recorder()


@pytest.fixture
def access() -> Trusting:
    return Trusting()


@pytest.fixture
def client(service: Recorder, access: Trusting) -> TestClient:
    return TestClient(build_application(services_of(service), access))


def named(text: str) -> set[str]:
    return {line.split("{")[0].split()[0] for line in text.splitlines() if line and not line.startswith("#")}


def test_each_metric_of_the_dashboard_is_there(client: TestClient) -> None:
    client.get("/healthz")
    there = named(client.get("/metrics").text)
    dashboard = json.loads((resources.etc() / "grafana" / "cosched.json").read_text())
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked = {word for expression in targets for word in _WORD.findall(expression)}
    assert len(asked) >= 10
    assert asked - there == set()


def test_workers_of_elastic_tasks_are_counted(client: TestClient) -> None:
    text = client.get("/metrics").text
    for line in (
        "cosched_elastic_tasks 2.0",
        'cosched_elastic_workers{kind="running"} 5.0',
        'cosched_elastic_workers{kind="wanted"} 6.0',
        'cosched_elastic_workers{kind="lent"} 3.0',
        'cosched_elastic_workers{kind="leaving"} 1.0',
        "cosched_elastic_drain_seconds 4.5",
        "cosched_elastic_width 7.0",
        'cosched_elastic_resizes_total{direction="grow"} 8.0',
        'cosched_elastic_resizes_total{direction="shrink"} 7.0',
        "cosched_elastic_forced_total 1.0",
        "cosched_elastic_lent_host_seconds_total 90.5",
    ):
        assert f"\n{line}\n" in text


def test_requests_are_counted(client: TestClient) -> None:
    client.get("/api/v1/status")
    client.get("/api/v1/nothing")
    client.request("BREW", "/healthz")
    text = client.get("/metrics").text
    assert 'cosched_http_requests_total{method="GET",status="200"} 1.0' in text
    assert 'cosched_http_requests_total{method="GET",status="404"} 1.0' in text
    assert 'cosched_http_requests_total{method="other",status="405"} 1.0' in text
    assert "cosched_http_request_seconds_count 3.0" in text


def test_figures_take_a_credential_for_them(client: TestClient, access: Trusting) -> None:
    access.principal = Principal("ann", Role.USER, frozenset({Scope.READ}), ProofOfIdentity.TOKEN)
    assert client.get("/metrics").status_code == 403
    access.principal = Principal("prometheus", Role.USER, frozenset({Scope.METRICS}), ProofOfIdentity.TOKEN)
    assert client.get("/metrics").headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_readiness_is_another_thing_than_life(client: TestClient, service: Recorder) -> None:
    assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (200, 200)
    service.error = SystemFault("cosched cannot answer")
    assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (503, 200)


def test_mistakes_of_cosched_are_counted(client: TestClient) -> None:
    assert "cosched_mistakes_total 3.0" in client.get("/metrics").text


def test_refused_letters_are_counted_by_neighbour(client: TestClient) -> None:
    assert 'cosched_refused_letters_total{peer="north"} 2.0' in client.get("/metrics").text


def test_a_request_that_cosched_failed_on_is_answered_with_500(client: TestClient, service: Recorder) -> None:
    service.error = MistakeError("cosched made a mistake with it")
    answer = client.get("/api/v1/tasks")
    assert (answer.status_code, answer.json()["detail"]) == (500, "cosched made a mistake with it")
