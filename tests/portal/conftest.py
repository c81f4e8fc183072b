"""Requests of all tests have one event loop: else a thread with a loop is begun and ended for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi.testclient import TestClient

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def _one_loop() -> Iterator[None]:
    with start_blocking_portal() as loop:
        TestClient.portal = loop
        yield
        TestClient.portal = None
