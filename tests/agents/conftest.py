from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport.peer_server import PeerServer
from tests.agents.identities import Box, Identity, an_identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def a(tmp_path: Path) -> Identity:
    return an_identity(tmp_path, "a")


@pytest.fixture
def b(tmp_path: Path) -> Identity:
    return an_identity(tmp_path, "b")


@pytest.fixture
def server(a: Identity, b: Identity, box: Box) -> Iterator[PeerServer]:
    """The agent of b, which knows a."""
    server = PeerServer(("127.0.0.1", 0), b.files, "b", box.put, box.output)
    server.set_peers([a.entry(1)])
    server.start()
    yield server
    server.stop()
