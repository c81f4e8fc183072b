"""A daemon beside a real manager that does not answer for long: tasks are kept, and afterwards each has run once.

A minute is pressed into some seconds: a call is given up after two of them in place of thirty.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.portal.documents import TaskRequest
from demo.site import Site
from tests.history import faults, read
from tests.testbed.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]

_AWAY = 8.0
_SCALE = 0.03
_PATIENCE = 120.0


@pytest.mark.parametrize(
    ("connector", "daemons"),
    [
        pytest.param("condor", ("collector",), marks=pytest.mark.xdist_group("condor")),
        pytest.param("condor", ("collector", "schedd"), marks=pytest.mark.xdist_group("condor")),
        pytest.param("slurm", ("slurmctld",), marks=pytest.mark.xdist_group("slurm")),
    ],
)
def test_a_manager_that_is_away_for_long_costs_time_and_no_task(connector: str, daemons: Sequence[str]) -> None:
    settings: dict[str, dict[str, Any]] = {f"connector.{connector}": {"timeout": 2},
                                           "dispatch": {"grace": "1s", "retry": "200ms"}}  # fmt: skip
    with ExitStack() as stack:
        try:
            site = stack.enter_context(Site(connector, scale=_SCALE, settings=settings))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client = stack.enter_context(site.client())
        tasks = client.submit_all(_requests(site, 6))
        _await(lambda: any(client.task(task.id).state == "running" for task in tasks))
        with _frozen(site.pool, daemons):
            _await(lambda: bool(client.status().faults))
            tasks += client.submit_all(_requests(site, 6))
            time.sleep(_AWAY)
            assert any("resource manager" in fault for fault in client.status().faults)
        done = client.wait([task.id for task in tasks], _PATIENCE)
        assert {task.state for task in done} == {"completed"}
        _await(lambda: not client.status().faults)
        assert not faults(read(site.journal), [task.id for task in tasks])


def _requests(site: Site, count: int) -> list[TaskRequest]:
    """Return tasks, some with figures of their own and some without, which leave together."""
    command = tuple(site.command("sweep3d", str(_SCALE)))
    return [TaskRequest(command=command, profile=(50 * _SCALE, 40 * _SCALE) if place % 2 else None, hosts="1-2")
            for place in range(count)]  # fmt: skip


@contextmanager
def _frozen(pool: Any, daemons: Sequence[str]) -> Iterator[None]:
    found = [pool.pid(daemon) for daemon in daemons] if hasattr(pool, "pid") else [
        process for daemon in daemons for process in pool.processes_of(daemon)]  # fmt: skip
    assert len(found) >= len(daemons)
    for process in found:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in found:
            os.kill(process, signal.SIGCONT)


def _await(so: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not so():
        assert time.monotonic() < until
        time.sleep(0.1)
