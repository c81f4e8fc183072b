"""A portal over a daemon's parts, and people who use it, for the tests."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastapi.testclient import TestClient

from cosched.access.authentication import COOKIE
from cosched.access.principals import Role, RoleSource
from cosched.access.sessions import Login
from cosched.access.tokens import signature
from cosched.app.core_access import CoreClient
from cosched.app.share_service import ShareService
from cosched.coscheduler.events import SharesChanged
from cosched.portal.application import build_application
from cosched.store.shares import ShareTable
from tests.daemon.makers import Daemon, access_to, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI
    from httpx2 import Response

    from cosched.access.authentication import Authenticator
    from cosched.coscheduler.sharing.shares import Shares


@dataclass
class Portal:
    """The pages before a daemon whose tasks stay where they are, and people who look at them."""

    daemon: Daemon
    access: Authenticator
    app: FastAPI

    def person(self, name: str, role: Role = Role.USER) -> Person:
        """Return somebody who has logged in."""
        secret, _ = self.access.sessions.begin(Login(name, role, RoleSource.GRANTED), self.access.now())
        client = TestClient(self.app, base_url="http://127.0.0.1", follow_redirects=False, client=("127.0.0.1", 1))
        client.headers["Accept"] = "text/html"
        client.cookies.set(COOKIE, secret)
        return Person(client)


@dataclass
class Person:
    """Somebody with a browser without a script."""

    client: TestClient

    def see(self, path: str) -> str:
        """Return the page."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    def send(self, path: str, **fields: Any) -> Response:
        """Send a form of one of our pages."""
        return self.client.post(path, data={**fields, "csrf_token": self.csrf()})

    def refused(self, path: str, **fields: Any) -> str:
        """Send a form that is refused, and return the page to which that leads."""
        answer = self.send(path, **fields)
        assert answer.status_code == 303, answer.text
        assert "refused=" in answer.headers["Location"]
        return self.see(answer.headers["Location"])

    def csrf(self) -> str:
        """Return the session's token, without a look at a page: all forms carry it, masked anew each time."""
        return signature(self.client.cookies[COOKIE], "csrf")

    def submit(self, **fields: Any) -> str:
        """Submit and return where that leads."""
        answer = self.send("/submit", **{"application": "halving", **fields})
        assert answer.status_code == 303, answer.text
        return str(answer.headers["Location"])


@contextmanager
def portal(tmp_path: Path, hosts: int = 8, patience: float = 60.0, shares: Shares | None = None) -> Iterator[Portal]:
    """Run the pages of a domain in which no task leaves by itself."""
    with daemon(tmp_path, hosts, patience=patience) as running:
        if shares is not None:
            running.inbox.apply(SharesChanged(running.clock.now(), shares)).result(60)
            service = ShareService(CoreClient(running.inbox), ShareTable(running.store), shares)
            running.services = replace(running.services, shares=service)
        access = access_to(running.store)
        yield Portal(running, access, build_application(running.services, access))
