"""What a security review did to a whole daemon, done again: each attack ends harmlessly and others go on."""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from cosched.api.documents import TaskRequest
from tests.testbed.forked.nursery import QuickSite, forked_daemon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.site import Site

pytestmark = pytest.mark.daemon

_PASSWORD = "a long password"
_ALL = ["read", "submit", "manage", "metrics"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with QuickSite("local", scale=0.01, prepare=_listen) as site:
        yield site


def _listen(site: Site) -> None:
    with site.config.open("a") as file:
        file.write(f'[server]\nlisten = ["{site.server}", "127.0.0.1:0"]\n')


def _port(site: Site) -> str:
    found = re.search(r"127\.0\.0\.1:\d+", site.log.read_text())
    assert found is not None
    return f"http://{found[0]}"


def _chief(site: Site) -> httpx2.Client:
    """Return a client of the daemon's own user, an administrator at the socket."""
    transport = httpx2.HTTPTransport(uds=site.server.removeprefix("unix:"))
    return httpx2.Client(transport=transport, base_url="http://localhost/api/v1", timeout=240)


def _browser(site: Site, token: str = "") -> httpx2.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.Client(base_url=_port(site), headers=headers, trust_env=False, timeout=300)


def _token_of(site: Site, user: str) -> str:
    with _chief(site) as chief:
        answer = chief.post("/tokens", json={"user": user, "role": "user", "scopes": _ALL})
    assert answer.status_code == 201
    return str(answer.json()["token"])


def _peak(site: Site) -> int:
    """Return the most memory that the daemon has had, in MiB."""
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{site.pid}/status").read_text())
    return int(found) >> 10


def _serves(site: Site) -> None:
    """Run a task of another user's, to see that nothing stands still."""
    assert httpx2.get(f"{_port(site)}/healthz", trust_env=False, timeout=240).text == "ok\n"
    with site.client() as client:
        task = client.submit(TaskRequest(application="jacobi"))
        (ended,) = client.wait([task.id], timeout=240)
        assert ended.state == "completed"


def test_a_low_token_of_an_administrator_gets_no_administrators_pages(site: Site) -> None:
    """It made a link to log in, and the session had the account's role: it made another administrator."""
    with _chief(site) as chief:
        account = {"name": "adm", "password": _PASSWORD, "role": "administrator"}
        assert chief.post("/accounts", json=account).status_code == 201
    with _browser(site) as adm:
        assert adm.post("/login", data={"name": "adm", "password": _PASSWORD}).status_code == 303
        page = adm.get("/account").text
        found = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert found is not None
        low = adm.post(
            "/api/v1/tokens", json={"role": "user", "scopes": _ALL}, headers={"X-CSRF-Token": found[1]}
        ).json()
    with _browser(site, low["token"]) as thief, _browser(site) as window:
        assert thief.get("/api/v1/accounts").status_code == 403
        link = thief.post("/api/v1/login-links", json={})
        assert link.status_code == 201, link.text
        ticket = link.json()["url"].partition("ticket=")[2]
        assert window.get(f"/login?ticket={ticket}").status_code == 200
        assert window.post("/login/link", data={"ticket": ticket}).status_code == 303
        assert window.get("/api/v1/me").json()["role"] == "user"
        assert window.get("/api/v1/accounts").status_code == 403
        with _chief(site) as chief:
            assert chief.delete(f"/tokens/{low['id']}").status_code == 204
        assert window.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("unit", [b"1", b"[]", b'{"command":7}', b'{"command":["a"],"name":"' + b"x" * 900 + b'"}'])
def test_a_list_of_fourteen_mebibytes_takes_neither_memory_nor_time_of_others(site: Site, unit: bytes) -> None:
    """It took 7 GB and the daemon down: each bad element became an error of its own, twice."""
    before = _peak(site)
    body = b"[" + b",".join([unit] * ((14 << 20) // (len(unit) + 1))) + b"]"
    with _browser(site, _token_of(site, "eve")) as eve:
        answer = eve.post("/api/v1/tasks", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (413, 422)
    assert len(answer.text) < 2000
    assert _peak(site) - before < 1500
    _serves(site)


def test_tasks_of_fifteen_megabytes_stay_outside(site: Site) -> None:
    """Forty made the database 600 MB larger: the quota counted tasks and not bytes."""
    with _browser(site, _token_of(site, "eve")) as eve:
        for _ in range(8):
            refused = eve.post("/api/v1/tasks", json={"command": ["/bin/true", "x" * (15 << 20)]})
            assert refused.status_code == 422
    assert sum(file.stat().st_size for file in (site.folder / "state").glob("cosched.db*")) < 40 << 20


def test_of_forty_four_guesses_at_once_five_are_checked() -> None:
    """All 44 were checked: the permit was taken after the password."""
    with QuickSite("local", scale=0.01, prepare=_listen) as site:  # from here nobody else can log in for a while
        with _chief(site) as chief:
            account = {"name": "ann", "password": _PASSWORD, "role": "user"}
            assert chief.post("/accounts", json=account).status_code == 201

        def guess(number: int) -> str:
            with _browser(site) as eve:
                return eve.post("/login", data={"name": "ann", "password": f"guess {number}"}).text

        began = time.monotonic()
        with ThreadPoolExecutor(44) as many:
            answers = list(many.map(guess, range(44)))
    allowed = 5 + (time.monotonic() - began) // 30 + 1  # one more after each pause of 30 s
    assert 0 < sum("name or password are wrong" in answer for answer in answers) <= allowed
    assert sum("too many wrong passwords" in answer for answer in answers) >= 44 - allowed


def test_a_second_daemon_with_another_state_folder_does_not_start_on_the_database(site: Site) -> None:
    """Of 18 tasks 4 ran twice and 6 never."""
    alias, other = site.folder / "alias.db", site.folder / "second.toml"
    alias.symlink_to(site.folder / "state" / "cosched.db")
    text = re.sub(r'"unix:[^"]*"', f'"unix:{site.folder}/second.sock"', site.config.read_text())
    text = text.replace(f"{site.folder}/state", f"{site.folder}/second")
    other.write_text(f'{text}[database]\nurl = "sqlite:///{alias}"\n')
    log = site.folder / "second.log"
    assert forked_daemon(other, log, os.environ).wait(120) not in (0, None)
    assert "another cosched runs with the database" in log.read_text()
    _serves(site)
