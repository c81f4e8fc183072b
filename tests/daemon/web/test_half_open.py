"""Half-open connections at a whole daemon that may open few files."""

from __future__ import annotations

import re
import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from cosched.api.documents import TaskRequest
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from demo.site import Site

pytestmark = pytest.mark.daemon

_MORE_FILES = 220  # than the daemon has open at rest: connections of one address and of one user, and some to work with
_HALF_OPEN = 300  # connections of each kind
_BEGINNINGS = (b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx", b"")


def _listen(site: Site) -> None:
    with site.config.open("a") as file:
        file.write(f'[server]\nlisten = ["{site.server}", "127.0.0.1:0"]\n')


def test_half_open_connections_stop_neither_port_nor_socket_nor_dispatching() -> None:
    with QuickSite("local", scale=0.01, prepare=_listen) as site, ExitStack() as stack:
        found = re.search(r"127\.0\.0\.1:(\d+)", site.log.read_text())
        assert found is not None
        files = len(list(Path(f"/proc/{site.pid}/fd").iterdir())) + _MORE_FILES
        resource.prlimit(site.pid, resource.RLIMIT_NOFILE, (files, files))
        for number in range(_HALF_OPEN):
            port = stack.enter_context(socket.create_connection(("127.0.0.1", int(found[1])), timeout=240))
            local = stack.enter_context(socket.socket(socket.AF_UNIX))
            local.connect(site.server.removeprefix("unix:"))
            for each in (port, local):
                each.send(_BEGINNINGS[number % len(_BEGINNINGS)], socket.MSG_NOSIGNAL)
        assert httpx2.get(f"http://127.0.0.1:{found[1]}/healthz", trust_env=False, timeout=240).text == "ok\n"
        with site.client() as client:
            task = client.submit(TaskRequest(application="jacobi"))
            (ended,) = client.wait([task.id], timeout=240)
            assert (ended.state, client.status().faults) == ("completed", ())
