"""A daemon beside a real manager that does not answer for long: tasks are kept, and afterwards each has run once.

A minute is pressed into some seconds: a call is given up after two of them in place of thirty. `OUTAGE=60 pytest
tests/connectors/test_outages.py` takes the minute literally, with the time limits of a site that has set none.

The local connector has no manager that could be away: there those who look after the jobs stand still.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.api.documents import TaskRequest
from tests.history import faults, read
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.gates import behind
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from demo.site import Site

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.pool,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
]

_LITERAL = "OUTAGE" in os.environ
_AWAY = float(os.environ.get("OUTAGE", "8"))
_SETTINGS: dict[str, Any] = {} if _LITERAL else {"timeout": 2}
_SCALE = 0.03
_PATIENCE = 240.0


@pytest.mark.parametrize(
    ("connector", "daemons"),
    [
        pytest.param("condor", ("collector",), marks=pytest.mark.xdist_group("condor-sites")),
        pytest.param("condor", ("collector", "schedd"), marks=pytest.mark.xdist_group("condor-sites")),
        pytest.param("slurm", ("slurmctld",), marks=pytest.mark.xdist_group("slurm-sites")),
        ("local", ()),
    ],
)
def test_a_manager_that_is_away_for_long_costs_time_and_no_task(connector: str, daemons: Sequence[str]) -> None:
    settings: dict[str, dict[str, Any]] = {"dispatch": {"grace": "1s", "retry": "200ms"}}
    if daemons:
        settings[f"connector.{connector}"] = _SETTINGS
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=_SCALE, hosts=6, settings=settings))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client = stack.enter_context(site.client())
        gate = site.folder / "gate"
        (waiter,) = client.submit_all([_waiter(gate)])
        tasks = client.submit_all(_requests(site, 6))
        until(lambda: client.task(waiter.id).state == "running")
        with _frozen(_processes(site, daemons)):
            if daemons:
                until(lambda: bool(client.status().faults))
            tasks += client.submit_all(_requests(site, 6))
            time.sleep(_AWAY)
            assert any("resource manager" in fault for fault in client.status().faults) == bool(daemons)
            assert not any(client.task(task.id).state in ("failed", "cancelled") for task in [waiter, *tasks])
        gate.touch()
        done = client.wait([task.id for task in [waiter, *tasks]], _PATIENCE)
        assert {task.state for task in done} == {"completed"}
        until(lambda: not client.status().faults)
        assert not faults(read(site.journal), [task.id for task in tasks])


def _waiter(gate: Path) -> TaskRequest:
    """Return a task that runs until the manager is back, however long its outage begins after it."""
    return TaskRequest(command=behind(gate), profile=(8.0,))


def _requests(site: Site, count: int) -> list[TaskRequest]:
    """Return tasks, some with figures of their own and some without, which leave together."""
    command = tuple(site.command("sweep3d", str(_SCALE)))
    return [
        TaskRequest(command=command, profile=(50 * _SCALE, 40 * _SCALE) if place % 2 else None, hosts="1-2")
        for place in range(count)
    ]


def _processes(site: Site, daemons: Sequence[str]) -> list[int]:
    """Return the processes of a manager's daemons; of the local connector those that look after a job each."""
    pool: Any = site.pool
    if pool is None:
        claims = [claim.read_text().split() for claim in site.folder.glob("spool/attempts/*/claim")]
        return [int(process) for process, _, _ in claims if Path(f"/proc/{process}").exists()]
    found = (
        [pool.pid(daemon) for daemon in daemons]
        if hasattr(pool, "pid")
        else [process for daemon in daemons for process in pool.processes_of(daemon)]
    )
    assert len(found) >= len(daemons)
    return found


@contextmanager
def _frozen(found: Sequence[int]) -> Iterator[None]:
    assert found
    for process in found:
        with suppress(ProcessLookupError):  # a job that has just ended has nobody to look after it
            os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
