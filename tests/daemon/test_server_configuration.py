from __future__ import annotations

import gc
import re
from typing import TYPE_CHECKING

import httpx2
import pytest

from cosched.daemon.config.loading import load_configuration
from cosched.daemon.server import web_server
from cosched.errors import UserError
from tests.daemon.makers import daemon

if TYPE_CHECKING:
    from pathlib import Path


def login_link(folder: Path, text: str) -> dict[str, str]:
    """Open the doors as configured, ask for the link to the pages, and close them."""
    file = folder / "cosched.toml"
    file.write_text(text)
    configuration = load_configuration(file, {})
    with daemon(folder, hosts=0) as running:
        server = web_server(configuration, running.services, running.store, running.clock)
        server.start()
        try:
            transport = httpx2.HTTPTransport(uds=str(folder / "here.sock"))
            with httpx2.Client(transport=transport, base_url="http://localhost") as client:
                answer = client.post("/api/v1/login-links")
        finally:
            server.stop()
    document: dict[str, str] = answer.json()
    return document


@pytest.mark.parametrize(
    ("more", "link"),
    [
        ("", r"http://127\.0\.0\.1:[0-9]+/login\?ticket="),
        ('names = ["pool.example.org"]', r"http://pool\.example\.org:[0-9]+/login\?ticket="),
    ],
)
def test_the_link_leads_to_the_first_port_under_the_name_that_people_know(tmp_path: Path, more: str, link: str) -> None:
    found = login_link(tmp_path, f'[server]\nlisten = ["unix:{tmp_path}/here.sock", "127.0.0.1:0"]\n{more}\n')
    assert re.match(link, found["url"])


def test_without_a_port_there_is_no_link_and_that_says_what_to_do(tmp_path: Path) -> None:
    found = login_link(tmp_path, f'[server]\nlisten = ["unix:{tmp_path}/here.sock"]\n')
    assert found["detail"].endswith("add 127.0.0.1:8080 to [server] listen")


def test_a_certificate_that_will_not_do_leaves_no_door_open(tmp_path: Path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_text("nonsense")
        (tmp_path / name).chmod(0o600)
    with pytest.raises(UserError, match="certificate"):
        login_link(
            tmp_path,
            f'[server]\nlisten = ["unix:{tmp_path}/here.sock"]\n'
            f'certificate = "{tmp_path}/cert.pem"\nkey = "{tmp_path}/key.pem"\n',
        )
    gc.collect()  # a socket that nobody closed is a warning, and so an error, of this test
