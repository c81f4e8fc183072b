"""A Dask computation on real managers grows over idle hosts and gives them back, and computes nothing twice."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.client.dask_commands import dask_command, dask_worker_command
from demo.programs import interpreter
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.software.debian import PackageError
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.client import Client

_PATIENCE = 240.0
_SETTINGS = {"elastic": {"settle": "1s", "payback": 0.0, "grace": "5m"}}
# Rounds of numbers until the gate is open; each start has a line with its worker.
_SCRIPT = """\
import sys, time
from pathlib import Path
from distributed import Client, get_worker

def square(number, starts):
    with open(starts, "a") as lines:
        lines.write(f"{number} {get_worker().name}\\n")
    time.sleep(0.2)
    return number * number

starts, gate = sys.argv[1], Path(sys.argv[2])
with Client() as client:
    count = total = 0
    while not gate.exists():
        total += sum(client.gather(client.map(square, range(count, count + 40), starts=starts, pure=False)))
        count += 40
print(count, total)
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "connector",
    [
        pytest.param("local", marks=pytest.mark.daemon),
        pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
        pytest.param("slurm", marks=[pytest.mark.pool, pytest.mark.xdist_group("slurm-sites")]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_a_dask_computation_gives_hosts_back_and_repeats_nothing(connector: str) -> None:
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with ExitStack() as stack:
        try:
            python, variables = interpreter(connector)
            site = stack.enter_context(QuickSite(connector, scale=1.0, hosts=4, settings=_SETTINGS))
        except PackageError as error:
            pytest.skip(f"the manager, or a Python for its jobs, cannot be had here: {error}")
        client, starts, gate = stack.enter_context(site.client()), site.journal, site.folder / "gate"
        starts.touch()
        script = site.folder / "squares.py"
        script.write_text(_SCRIPT)
        # While two hosts are taken for long, two now are better than more later: so two are promised.
        other = client.submit(TaskRequest(command=("/bin/sleep", "300"), profile=(None, 300.0)))
        until(lambda: client.task(other.id).state == "running")
        command = dask_command(script, (str(starts), str(gate)), python)
        worker = ElasticRequest(worker=dask_worker_command(python))
        profile = (None, 400.0, 399.0, 398.0)
        dask = client.submit(TaskRequest(command=command, elastic=worker, profile=profile, environment=variables)).id
        until(lambda: _workers(starts) >= {"0", "1"}, lambda: _said(client, dask))
        client.cancel(other.id)
        until(lambda: _workers(starts) >= {"0", "1", "2", "3"}, lambda: _said(client, dask))
        rigid = client.submit(TaskRequest(command=("/bin/sleep", "1"), profile=(None, 1.0)))
        assert client.wait([rigid.id], _PATIENCE)[0].state == "completed"
        until(lambda: len(_workers(starts)) >= 6, lambda: _said(client, dask))  # lent again
        gate.touch()
        assert client.wait([dask], _PATIENCE)[0].state == "completed", _said(client, dask)
        printed = client.output(dask, "out")
        assert printed is not None
        count, total = map(int, printed.data.split())
        assert total == sum(number * number for number in range(count))
        assert sorted(map(int, (line.split()[0] for line in starts.read_text().splitlines()))) == list(range(count))
        reasons = [each.reason for each in client.workers(dask).workers if each.worker in (2, 3)]
        assert all("starts on" in reason for reason in reasons), reasons


def _workers(starts: Path) -> set[str]:
    """Return the names of the workers that have computed something."""
    return {line.split()[1] for line in starts.read_text().splitlines() if " " in line}


def _said(client: Client, task: str) -> str:
    written = client.output(task, "err")
    return "" if written is None else written.data[-3000:].decode(errors="replace")
