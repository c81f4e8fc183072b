"""An elastic task on real managers grows over idle hosts, gives them to a task that comes and ends with its lead."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from tests.testbed.debian import PackageError
from tests.testbed.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.client import Client

_PATIENCE = 150.0
_SETTINGS = {"elastic": {"settle": "1s", "payback": 0.0}}
_HOST = r"""ad=${_CONDOR_MACHINE_AD:-/dev/null}
machine=$(sed -n 's/^Machine = "\(.*\)"/\1/p' "$ad")
here=$(sed -n "$((${COSCHED_RANK:-0} + 1))p" "$COSCHED_HOST_FILE")
host=${SLURMD_NODENAME:-${machine:-$here}}
"""
_WORKER = _HOST + 'while :; do echo "worker $host $(date +%s.%N)" >> "$1"; sleep 0.1; done\n'
_RIGID = _HOST + 'echo "begin $host $(date +%s.%N)" >> "$1"; sleep 2; echo "end $host $(date +%s.%N)" >> "$1"\n'
# It says by mail where its workers find it; for these, that is the journal.
_LEAD = """cd "$COSCHED_MAILBOX/answers" && echo '{"address": "'"$2"'"}' > a.new && mv a.new a.json
until [ -e "$1" ]; do sleep 0.1; done; echo done
"""


@pytest.mark.parametrize(
    "connector",
    [
        pytest.param("local", marks=pytest.mark.daemon),
        pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
        pytest.param("slurm", marks=[pytest.mark.pool, pytest.mark.xdist_group("slurm-sites")]),
    ],
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_an_elastic_task_grows_gives_back_and_ends_with_its_lead(connector: str) -> None:
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=1.0, hosts=4, settings=_SETTINGS))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client, journal, gate = stack.enter_context(site.client()), site.journal, site.folder / "gate"
        scripts = {name: _script(site.folder / name, text) for name, text in _SCRIPTS.items()}
        # While two hosts are taken for long, two now are better than more later: so two are promised.
        taken = ("/bin/sh", scripts["lead"], str(site.folder / "taken"))
        filler = client.submit(TaskRequest(command=taken, hosts=2, profile=(None, 300.0)))
        _until(lambda: client.task(filler.id).state == "running")
        worker = ElasticRequest(worker=("/bin/sh", scripts["worker"], "{lead}"))
        command, profile = ("/bin/sh", scripts["lead"], str(gate), str(journal)), (None, 400.0, 399.0, 398.0)
        elastic = client.submit(TaskRequest(command=command, profile=profile, elastic=worker)).id
        _until(lambda: client.task(elastic).state == "running")
        (site.folder / "taken").touch()
        _until(lambda: _running(client, elastic) == 3)
        assert len(client.workers(elastic).promised) == 1
        rigid = client.submit(TaskRequest(command=("/bin/sh", scripts["rigid"], str(journal)), profile=(None, 2.0)))
        assert client.wait([rigid.id], _PATIENCE)[0].state == "completed"
        _until(lambda: _running(client, elastic) == 3)  # lent again
        gate.touch()
        assert client.wait([elastic], _PATIENCE)[0].state == "completed"
        assert all(each.state not in ("running", "leaving") for each in client.workers(elastic).workers)
        assert _shared_hosts(journal) == []


_SCRIPTS = {"worker": _WORKER, "rigid": _RIGID, "lead": _LEAD}


def _script(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < until, "it does not come about"
        time.sleep(0.2)


def _running(client: Client, task: str) -> int:
    return sum(each.state == "running" for each in client.workers(task).workers)


def _shared_hosts(journal: Path) -> list[str]:
    """Return the hosts on which a worker was alive while the rigid task ran."""
    lines = [line.split() for line in journal.read_text().splitlines()]
    begun = {host: float(at) for what, host, at in lines if what == "begin"}
    ended = {host: float(at) for what, host, at in lines if what == "end"}
    assert len(begun) == len(ended) == 2
    alive = [(host, float(at)) for what, host, at in lines if what == "worker"]
    assert len({host for host, _ in alive}) >= 3
    return sorted({host for host, at in alive if host in begun and begun[host] <= at <= ended[host]})
