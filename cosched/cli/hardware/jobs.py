"""Tasks measure hosts, one at a time, and pairs of hosts for the network."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cosched.api.documents import ReservationRequest, TaskRequest
from cosched.errors import UserError
from cosched.language.diagnostics import suggestion
from cosched.measurement.host_program import read_measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cosched.api.documents import HostView, TaskDetail
    from cosched.client import Client
    from cosched.measurement.host_program import HostMeasurement, HostProgram

__all__ = ["MeasuredHosts", "chosen_hosts", "measure_hosts"]

_TASK_NAME = "measure"
_HOSTS_OF_A_CLASS = 3
_LIMIT = 60.0  # seconds of one task, and of keeping other hosts out of its way until it has begun
_TRIES = 3
_PAUSE = 0.3


@dataclass(frozen=True, slots=True)
class MeasuredHosts:
    """Results: each host by itself, and messages of pairs."""

    hosts: tuple[HostMeasurement, ...]
    pairs: tuple[HostMeasurement, ...]


def chosen_hosts(hosts: Sequence[HostView], host_class: str, named: str) -> tuple[str, ...]:
    """Return the hosts to measure: those that are named, else the first three idle ones of a class.

    Raises:
        UserError: there is no such class or host, or it is down or busy.
    """
    if not named:
        classes = sorted({host.host_class for host in hosts})
        if host_class not in classes:
            near = suggestion(host_class, classes) or _known(classes)
            raise UserError(f"no host is of class {host_class[:80]!r}{near}")
        found = [host.name for host in hosts if host.host_class == host_class and not _occupied(host)]
        if not found:
            raise UserError(f"no host of class {host_class!r} is idle: measure when one is")
        return tuple(found[:_HOSTS_OF_A_CLASS])
    by_name = {host.name: host for host in hosts}
    wanted = tuple(dict.fromkeys(filter(None, (word.strip() for word in named.split(",")))))
    if not wanted:
        raise UserError("--hosts names none: give names of `cosched host list`, separated by commas")
    for name in wanted:
        if name not in by_name:
            near = suggestion(name, by_name) or ": `cosched host list` has their names"
            raise UserError(f"there is no host {name[:80]!r}{near}")
        if reason := _occupied(by_name[name]):
            raise UserError(f"host {name} {reason}: measure it when it is idle")
    return wanted


def _known(classes: Sequence[str]) -> str:
    named = ", ".join(filter(None, classes))
    return f": known are {named}" if named else ": hosts have no classes here, name some with --hosts"


def _occupied(host: HostView) -> str:
    if not host.up:
        return f"is down ({host.reason or 'no reason given'})"
    return "is reserved" if host.reserved else "is busy" if host.busy else ""


def measure_hosts(
    client: Client, program: HostProgram, hosts: Sequence[str], tell: Callable[[str], None]
) -> MeasuredHosts:
    """Measure hosts one after another, then up to two pairs of neighbours in the list.

    Raises:
        UserError: a host could not be measured, or the user may not reserve hosts.
    """
    alone = []
    for host in hosts:
        begun = time.monotonic()
        alone.append(_measured(client, (host,), program.alone(loopback=len(hosts) == 1)))
        tell(f"{host}: {time.monotonic() - begun:.1f} s")
    pairs = []
    for pair in list(pairwise(hosts))[:2]:
        begun = time.monotonic()
        pairs.append(_measured(client, pair, program.pair(secrets.token_hex(8))))
        tell(f"{pairs[-1].host}: {time.monotonic() - begun:.1f} s")
    return MeasuredHosts(tuple(alone), tuple(pairs))


def _measured(client: Client, hosts: tuple[str, ...], command: tuple[str, ...]) -> HostMeasurement:
    """Run a command as a task on these hosts and read what it prints."""
    request = TaskRequest(
        command=command,
        name=_TASK_NAME,
        hosts=len(hosts),
        profile=(*[None] * (len(hosts) - 1), _LIMIT / 2),
        best_effort=True,
        time_limit=_LIMIT,
        requeue=False,
    )
    for _ in range(_TRIES):
        with _others_reserved(client, hosts):
            task_id = client.submit(request).id
            _wait_for_begin(client, task_id, hosts)
        (task,) = client.wait([task_id], 3 * _LIMIT)
        if set(task.hosts) == set(hosts):
            return _read(client, task)
        if task.finished is None:
            client.cancel(task_id)
    raise UserError(f"{' and '.join(hosts)} could not be had for a task: others' tasks went there; try again later")


@contextmanager
def _others_reserved(client: Client, hosts: Sequence[str]) -> Iterator[None]:
    """Reserve all other hosts until the block ends, a minute at most."""
    others = tuple(host.name for host in client.hosts() if host.up and host.name not in hosts)
    if not others:
        yield
        return
    made = client.reserve(ReservationRequest(hosts=others, end=time.time() + _LIMIT, name=_TASK_NAME))
    try:
        yield
    finally:
        client.release(made.id)


def _wait_for_begin(client: Client, task_id: str, hosts: Sequence[str]) -> None:
    end = time.monotonic() + _LIMIT
    while client.task(task_id).dispatched is None:
        if time.monotonic() > end:
            client.cancel(task_id)
            raise UserError(
                f"no task began on {' and '.join(hosts)} within a minute: `cosched task show {task_id}` says why"
            )
        time.sleep(_PAUSE)


def _read(client: Client, task: TaskDetail) -> HostMeasurement:
    where = " and ".join(task.hosts)
    if task.exit_code != 0:
        said = client.output(task.id, "err")
        words = " ".join(said.data.decode(errors="replace").split())[:300] if said and said.data else task.reason
        raise UserError(f"measuring {where} failed (task {task.id}, {task.state}): {words or 'without a word'}")
    content = b""
    while (part := client.output(task.id, "out", offset=len(content))) and part.data:
        content += part.data
    return read_measurement(where, content.decode(errors="replace"))
