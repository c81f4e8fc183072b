"""Hosts of a real HTCondor whose owners come back: what can be moved leaves them, and goes on elsewhere."""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from tests.testbed.condor.owners import Owners
from tests.testbed.forked.nursery import QuickSite
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.api.documents import TaskView
    from cosched.client import Client

pytestmark = [pytest.mark.pool, pytest.mark.slow, pytest.mark.xdist_group("condor-sites")]

_HOSTS = [f"node{number:02d}" for number in range(1, 5)]
_PATIENCE = 300.0  # seconds
_SETTINGS: dict[str, dict[str, object]] = {"load": {"notice": "3s"}, "elastic": {"settle": "1s", "payback": 0.0}}
_LEAD = """cd "$COSCHED_MAILBOX/answers" && echo '{"address": "here"}' > a.new && mv a.new a.json
until [ -e "$1" ]; do sleep 0.1; done
"""
_PROGRAM = """until [ -e "$1" ]; do
    if [ -e "$COSCHED_MAILBOX/stop" ]; then exit 85; fi
    sleep 0.1
done
"""


@pytest.fixture
def owners() -> Iterator[Owners]:
    # The pool's daemons look there: pytest's own folders are closed to them, again by each further pytest.
    with tempfile.TemporaryDirectory(prefix="owners-") as folder:
        yield Owners(Path(folder), _HOSTS)


@pytest.fixture
def site(owners: Owners) -> Iterator[QuickSite]:
    pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with QuickSite("condor", scale=1.0, hosts=4, settings=_SETTINGS, pool_settings=owners.settings) as site:
        yield site


@contextmanager
def _coming_and_going(owners: Owners, host: str) -> Iterator[None]:
    """Have a host's owner be there half of the time, so that a program there comes to hear what it is told."""
    over = threading.Event()

    def live() -> None:
        while True:
            for do in (owners.come, owners.go):
                do(host)
                if over.wait(3.0):
                    owners.go(host)
                    return

    life = threading.Thread(target=live)
    life.start()
    try:
        yield
    finally:
        over.set()
        life.join()


def _running(client: Client, task: str) -> TaskView | None:
    found = client.task(task)
    return found if found.state == "running" else None


def _left(client: Client, task: str) -> list[str]:
    return [each.detail for each in client.log() if (each.kind, each.task) == ("host left", task)]


def test_a_worker_leaves_the_host_whose_owner_came_back(site: QuickSite, owners: Owners) -> None:
    lead, gate = site.folder / "lead", site.folder / "gate"
    lead.write_text(_LEAD)
    with site.client() as client:
        elastic = ElasticRequest(worker=("/bin/sh", "-c", "sleep 1000"))
        request = TaskRequest(command=("/bin/sh", str(lead), str(gate)), profile=(None, 400.0), elastic=elastic)
        task = client.submit(request).id

        def worker_host() -> str:
            return next((each.host for each in client.workers(task).workers if each.state == "running"), "")

        until(lambda: worker_host() != "", "no worker runs")
        loaded, lead_host = worker_host(), client.workers(task).host
        owners.come(loaded)
        try:
            until(lambda: bool(_left(client, task)), "the host was not left")
            (why,) = _left(client, task)
            assert why.startswith("owners take ")
            assert f"of {loaded}; node" in why
            until(lambda: worker_host() not in {"", loaded}, "no worker runs elsewhere")
            assert loaded not in client.workers(task).promised
            assert client.workers(task).promised == (worker_host(),)
            assert client.workers(task).host == lead_host
        finally:
            gate.touch()
            owners.go(loaded)
        (done,) = client.wait([task], _PATIENCE)
        assert done.state == "completed"


def test_a_program_that_checkpoints_leaves_the_host_whose_owner_comes_and_goes(site: QuickSite, owners: Owners) -> None:
    program, gate = site.folder / "program", site.folder / "gate"
    program.write_text(_PROGRAM)
    with site.client() as client:
        request = TaskRequest(
            command=("/bin/sh", str(program), str(gate)),
            profile=(3000.0,),
            elastic=ElasticRequest(kind="restart", grace="2m", cost=1.0),
        )
        task = client.submit(request).id
        until(lambda: _running(client, task) is not None, "the program does not run")
        (first,) = client.task(task).hosts
        with _coming_and_going(owners, first):
            until(lambda: client.task(task).restarts is not None, "the program was not asked to stop, or did not")
        until(lambda: _running(client, task) is not None, "the program does not run again")
        assert client.task(task).hosts != (first,)
        gate.touch()
        (done,) = client.wait([task], _PATIENCE)
        assert done.state == "completed"
        assert [each.exit_code for each in done.tries] == [85, 0]
        assert "; owners take " in done.tries[0].reason
        assert done.tries[0].reason.endswith(f"% of {first}")
