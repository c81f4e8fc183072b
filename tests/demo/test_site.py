from __future__ import annotations

import socket
from pathlib import Path

import pytest

from cosched.api.documents import TaskRequest
from cosched.client import Client
from cosched.errors import SystemFault
from demo.site import Site
from tests.testbed.forked.nursery import QuickSite
from tests.waiting import until

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.daemon,
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


def at_work(folder: Path) -> list[int]:
    """Return the processes that have something in the folder in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended
    return found


def test_a_site_left_early_takes_its_jobs_with_it() -> None:
    with QuickSite("local", scale=10.0) as site, site.client() as client:
        (task,) = client.submit_all([TaskRequest(application="sweep3d")])
        until(lambda: client.task(task.id).state == "running")
        assert at_work(site.folder)
    assert not at_work(site.folder)
    assert not site.folder.exists()


def test_a_daemon_that_listens_and_does_not_answer_yet_is_asked_again(tmp_path: Path) -> None:
    class Hasty(Site):
        def client(self) -> Client:
            return Client(self.server, timeout=0.1)

    site = Hasty("local", scale=1.0)
    site.server = f"unix:{tmp_path}/socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tmp_path}/socket")
        listening.listen()
        assert not site._serves()


def test_a_daemon_that_cannot_start_says_why_and_leaves_nothing() -> None:
    site = Site("local", scale=1.0, settings={"planning": {"policy": "guess"}})
    with pytest.raises(SystemFault, match=r"did not start: .*planning.policy is 'guess'"), site:
        pass
    assert not site.folder.exists()
