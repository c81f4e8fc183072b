"""A Dask cluster for a notebook: `from cosched.dask import CoschedCluster`. It is an elastic task of its user's."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Security
from distributed.core import rpc
from distributed.deploy.cluster import Cluster
from tornado.ioloop import PeriodicCallback

from cosched.api.deadlines import parse_typed_deadline
from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.api.runtimes import parse_runtime
from cosched.client import Client
from cosched.client.configured_address import configured_address
from cosched.client.dask_commands import dask_command, dask_worker_command
from cosched.client.http_caller import RESTART_PATIENCE
from cosched.dask.control import END, WISH
from cosched.dask.tls_files import ClusterTlsFiles, split_address
from cosched.durations import parse_duration
from cosched.errors import CoschedError, SystemFault, UserError

if TYPE_CHECKING:
    from cosched.api.documents import TaskDetail

__all__ = ["CoschedCluster"]

_LOOK_AGAIN = 0.5  # seconds
_SIGN_OF_LIFE = 20_000  # milliseconds between two
_MOST_HOSTS = 10_000
_PATIENCE_AT_EXIT = 10.0  # seconds
_FINAL = ("completed", "failed", "cancelled")
_OPEN: weakref.WeakSet[CoschedCluster] = weakref.WeakSet()  # those that this process has to end


class CoschedCluster(Cluster):  # type: ignore[misc]  # Dask's is not looked at
    """A Dask cluster on hosts that cosched promises and lends; a context manager.

    With arguments it submits a task, waits until that runs, and ends it when it is closed. In a script of
    `cosched task submit --dask` it is the cluster of that script, which goes on when it is closed.
    """

    def __init__(
        self,
        hosts: str | int = "",
        runtime: str = "",
        *,
        lasts: str = "",
        deadline: str = "",
        name: str = "dask",
        cores: int = 0,
        server: str = "",
        lease: str = "10m",
        asynchronous: bool = False,
        loop: Any = None,
    ) -> None:
        """Set up, and wait for the cluster unless `asynchronous`.

        Args:
            hosts: how many, as "2-12"; empty in a script that has a cluster.
            runtime: how long the work takes on how many hosts, as "2:60m,4:32m,8:18m".
            lasts: in its place, how long on the fewest hosts; on more it then takes as much less.
            deadline: as on the command line, such as "now+2h".
            name: of the task.
            cores: threads of each worker; 0: one.
            server: of the daemon; empty: as for the commands, $COSCHED_SERVER or where the configuration says.
            lease: after this time without a sign of this process the cluster ends.
            asynchronous: whether it is used in an event loop.
            loop: Dask's event loop; None for its usual one.

        Raises:
            UserError: the task is refused, or ends before it runs.
        """
        inside = not hosts and "DASK_SCHEDULER_ADDRESS" in os.environ
        self._request = None if inside else _request(str(hosts), runtime, lasts, deadline, name, cores, lease)
        self._server = server or os.environ.get("COSCHED_SERVER", "") or configured_address(os.environ)
        self.task = os.environ.get("COSCHED_TASK", "") if inside else ""
        self.security = Security()
        super().__init__(asynchronous=asynchronous, loop=loop, name=name)
        if not self.called_from_running_loop:
            self._loop_runner.start()
            try:
                self.sync(self._start)
            except BaseException:
                self._loop_runner.stop()
                raise
            if self._request is not None:
                _OPEN.add(self)

    def scale(self, n: int = 0, *, hosts: int = 0) -> None:
        """Wish for so many hosts, the lead's own among them.

        Promised ones beyond these are given back, but for the fewest of the cluster's `hosts`; more are lent.
        """
        count = int(n or hosts)
        self.sync(self._wish, count, count)

    def adapt(self, minimum: int = 1, maximum: int | None = None) -> None:
        """Wish for as many hosts as there are tasks for, within these bounds; so it is from the beginning.

        Promised ones beyond `maximum` are given back, as by `scale`.
        """
        self.sync(self._wish, minimum, maximum)

    def close(self, timeout: float | None = None) -> Any:
        """End the cluster and its task; that of a script goes on."""
        _OPEN.discard(self)
        closed = super().close(timeout)
        if not self.asynchronous:
            self._loop_runner.stop()
        return closed

    async def _wish(self, least: int, most: int | None) -> None:
        await getattr(self.scheduler_comm, WISH)(least=least, most=most)

    async def _start(self) -> None:
        if self._request is None:
            address = os.environ["DASK_SCHEDULER_ADDRESS"]
        else:
            address, files = await self._submitted(self._request)
            self.security = Security(**files.options())
        self.scheduler_comm = rpc(address, connection_args=self.security.get_connection_args("client"))
        self.periodic_callbacks["sign of life"] = PeriodicCallback(self._live, _SIGN_OF_LIFE)
        await super()._start()

    async def _live(self) -> None:
        with contextlib.suppress(OSError):
            await getattr(self.scheduler_comm, WISH)(change=False)

    async def _submitted(self, request: TaskRequest) -> tuple[str, ClusterTlsFiles]:
        """Submit the task and wait until it runs; return the address of its scheduler, and the files to reach it."""
        self.task = await asyncio.to_thread(self._ask, lambda client: client.submit(request).id)
        try:
            address, files = split_address(await self._told())
            if not os.access(files.key, os.R_OK):
                raise UserError(
                    f"the cluster's certificates in {files.folder} cannot be read here: a notebook must run as the "
                    "user of its jobs, where cosched's spool is reached; or submit a script with --dask"
                )
            files = files.proven_own()
        except BaseException:
            with contextlib.suppress(CoschedError):
                await asyncio.to_thread(self._ask, lambda client: client.cancel(self.task))
            raise
        return address, files

    async def _told(self) -> str:
        """Wait until the lead has told its address; a daemon that is started again meanwhile is waited for, too."""
        heard = time.monotonic()
        while True:
            try:
                told = await asyncio.to_thread(self._ask, self._address)
                heard = time.monotonic()
            except SystemFault:
                if time.monotonic() - heard > RESTART_PATIENCE:
                    raise
                told = ""
            if told:
                return str(told)
            await asyncio.sleep(_LOOK_AGAIN)

    def _address(self, client: Client) -> str:
        task = client.task(self.task)
        if task.state in _FINAL:
            raise UserError(f"the cluster's task {task.id} {task.state}: {_why(client, task)}")
        return client.workers(self.task).lead

    def _ask(self, question: Any) -> Any:
        with Client(self._server) as client:
            return question(client)

    async def _close(self) -> None:
        if self._request is not None and self.scheduler_comm is not None:
            with contextlib.suppress(OSError):
                await getattr(self.scheduler_comm, END)()
        await super()._close()


def _request(hosts: str, runtime: str, lasts: str, deadline: str, name: str, cores: int, lease: str) -> TaskRequest:
    if not hosts:
        raise UserError('a cluster needs hosts: CoschedCluster(hosts="2-8", lasts="1h")')
    if bool(runtime) == bool(lasts):
        raise UserError('say how long it takes, by runtime="2:60m,8:18m" or lasts="1h", but not by both')
    profile = parse_runtime(runtime, hosts) if runtime else _divided(hosts, parse_duration(lasts, "lasts"))
    due = parse_typed_deadline(deadline, time.time())[0] if deadline else None
    return TaskRequest(
        command=dask_command(None, (str(parse_duration(lease, "lease")),)),
        elastic=ElasticRequest(worker=dask_worker_command()),
        hosts=hosts,
        profile=profile,
        deadline=due,
        name=name,
        cores=cores,
        directory=str(Path.cwd()),
    )


def _divided(hosts: str, seconds: float) -> tuple[float | None, ...]:
    """Return the profile of perfectly divisible work, given its time on the fewest hosts."""
    first, _, last = hosts.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal() and 1 <= int(first) <= int(last or first) <= _MOST_HOSTS):
        raise UserError(f'hosts is {hosts[:80]!r}: write a number, or two as "2-8", the smaller first')
    least, most = int(first), int(last or first)
    return (*(None for _ in range(1, least)), *(seconds * least / count for count in range(least, most + 1)))


def _why(client: Client, task: TaskDetail) -> str:
    try:
        said = client.output(task.id, "err")
    except SystemFault:
        said = None
    written = "" if said is None else said.data[-1000:].decode(errors="replace").strip()
    return written or task.reason or "it said nothing"


@atexit.register
def _close_all() -> None:
    """End the clusters that nobody closed: their hosts would be kept for the rest of the lease."""
    for cluster in list(_OPEN):
        with contextlib.suppress(Exception):
            cluster.close(timeout=_PATIENCE_AT_EXIT)
