"""Schemathesis on the API's own description: all its checks, against a real server.

Each run tries the same request or two of each operation. `make soak` looks for new ones and for many more, tries the
bounds of all fields (the phase `coverage`) and follows links from answer to request (`stateful`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from cosched.access import Role, Scope
from cosched.access.tokens import TokenGrant
from cosched.addresses import parse_listen_address
from cosched.daemon.web.server import WebServer
from cosched.daemon.web.sockets import open_socket
from cosched.portal.application import build_application
from tests.daemon.makers import access_to, daemon
from tests.exploring import EXPLORES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.daemon

_SAMPLE = ["--max-examples", "2", "--phases", "examples,fuzzing", "--generation-deterministic"]
_HOW = ["--max-examples", "200"] if EXPLORES else _SAMPLE


# Names that are there no schema can tell. What a task must be beyond its form (a known application, a deadline that can
# be met) none can say either, nor which hosts there are to be reserved and until when, nor which parameters a model
# has, nor until when a notice is shown: such a request is refused with 422, as RFC 9110 has it.
_SETTINGS = """
[[operations]]
include-name = "POST /api/v1/tasks"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-name = "PATCH /api/v1/tasks/{task_id}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-name = "POST /api/v1/tasks/{task_id}/resubmit"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-name = "POST /api/v1/reservations"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-name = "POST /api/v1/notices"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-path = "/api/v1/models/{kind}/{name}"
parameters = { "path.kind" = "applications", "path.name" = "jacobi" }

[[operations]]
include-path = "/api/v1/models/applications/{name}/curves"
parameters = { "path.name" = "jacobi" }
checks.positive_data_acceptance.expected-statuses = ["2xx", "304", "422"]

[[operations]]
include-path = "/api/v1/events"
max-stream-events = 1  # it would go on for as long as is asked for
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The API of a daemon without a resource manager: its address, and an administrator's token."""
    with daemon(tmp_path) as running:
        access = access_to(running.store)
        grant = TokenGrant("chief", Role.ADMINISTRATOR, set(Scope))
        token, _ = access.tokens.create(grant, time.time(), time.time() + 1e5)
        listening = open_socket(parse_listen_address("127.0.0.1:0"))
        app = build_application(running.services, access, pages_address=lambda: "http://localhost:8080")
        server = WebServer(app, [listening])
        server.start()
        try:
            yield f"http://{server.addresses[0]}", token
        finally:
            running.services.feed.close()
            server.stop()


@pytest.mark.slow
def test_schemathesis_finds_nothing(served: tuple[str, str], tmp_path: Path) -> None:
    address, token = served
    (tmp_path / "schemathesis.toml").write_text(_SETTINGS)
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "run",
        f"{address}/api/v1/openapi.json",
        "--checks",
        "all",
        "--header",
        f"Authorization: Bearer {token}",
        "--no-color",
        "--request-timeout",
        "60",
        *_HOW,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3600 if EXPLORES else 250)
    assert done.returncode == 0, done.stdout[-60000:] + done.stderr[-2000:]
