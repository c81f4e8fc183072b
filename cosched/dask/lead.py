"""Run a script on Dask as the lead of an elastic task: `python -m cosched.dask.lead SCRIPT ARGUMENT…`.

It starts a scheduler, which the task's workers join, and a worker beside it. The script finds the scheduler by itself:
`distributed.Client()` needs no arguments there. When the script ends, so does the cluster, and with it the task. With
`--serve SECONDS` in the script's place it ends when it is told to, or has not been asked for so long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import dask
from distributed import Scheduler, Security
from distributed.utils import get_ip_interface

from cosched.dask.control import MOST_WISHED, Control
from cosched.dask.drain import Drains
from cosched.dask.overheads import WorkerOverheads
from cosched.dask.speeds import WorkerSpeeds
from cosched.dask.statistics import Figures, SteadyWish
from cosched.dask.task_ends import TaskEnds
from cosched.dask.tls_files import join_address, make_tls_files
from cosched.dask.worker import INTERFACE_VARIABLE, QUIET, thread_count, worker_command
from cosched.durations import format_duration
from cosched.elastic_lead import Lead
from cosched.errors import CoschedError, UserError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cosched.dask.tls_files import ClusterTlsFiles

    _Use = Callable[[Scheduler, Control, ClusterTlsFiles], Awaitable[int]]

__all__ = ["main"]

_OWN_WORKER = "0"  # name of the worker on the lead's host; cosched's numbers begin with 1
_PAUSE = 1.0  # seconds until it is started again, where it ended by itself
_REPORT_EACH = 1.0  # seconds
_SPEEDS_EACH = 2.0  # seconds; of overheads, too
_WISH_AGAIN = 10.0  # seconds after which a wish is said again
_CALM = 30.0  # seconds for which hosts are kept that it has no use for
_PATIENCE = 10.0  # seconds for a process to end
_PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_TLS_FOLDER = "dask"


async def run(lead: Lead, folder: Path, use: _Use) -> int:
    """Run a cluster for as long as it is used; return the exit code of its use.

    Args:
        lead: speaks with cosched.
        folder: a new one, for the cluster's certificates, that all hosts reach.
        use: what the cluster is for; ends when that has ended.

    Raises:
        UserError: the folder cannot be made, or this host has no such network interface.
        OSError: a program cannot be started.
    """
    interface = _interface()
    files, control = make_tls_files(folder), Control()
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(files.remove)
        # No pages: they would be open to everybody. And what the script writes is not to drown in news of workers.
        dask.config.set({"distributed.scheduler.http.routes": []})
        logging.getLogger("distributed").setLevel(logging.WARNING)
        scheduler = await stack.enter_async_context(
            Scheduler(
                protocol="tls",
                security=Security(**files.options()),
                interface=interface,
                dashboard=False,
                dashboard_address="127.0.0.1:0",
            )
        )
        control.attach(scheduler)
        told = join_address(scheduler.address, files)
        lead.announce(told)
        speeds, overheads = WorkerSpeeds(), WorkerOverheads(scheduler)
        TaskEnds(scheduler, speeds, overheads)
        _follow(lead, Drains(scheduler, lead), overheads)
        measured = _report_workers(scheduler, speeds, overheads, lead)
        for beside in (_own_worker(told), _report(scheduler, control, lead), measured):
            stack.push_async_callback(_cancelled, asyncio.ensure_future(beside))
        return await use(scheduler, control, files)


def script_use(script: Sequence[str]) -> _Use:
    """Return the use by a script: the cluster ends with it, and with its exit code (128 + n for signal n).

    Args:
        script: the program and its arguments.
    """

    async def use(scheduler: Scheduler, _control: Control, files: ClusterTlsFiles) -> int:
        environment = {**os.environ, **files.environment(scheduler.address)}
        process = await asyncio.create_subprocess_exec(*script, env=environment)
        loop = asyncio.get_running_loop()
        for number in _PASSED:
            loop.add_signal_handler(number, process.send_signal, number)
        code = await process.wait()
        return code if code >= 0 else 128 - code

    return use


def distant_use(lease: float) -> _Use:
    """Return the use by a notebook: the cluster ends on its word, or fails after `lease` seconds of silence."""

    async def use(scheduler: Scheduler, control: Control, _files: ClusterTlsFiles) -> int:
        loop = asyncio.get_running_loop()
        for number in _PASSED:
            loop.add_signal_handler(number, control.end)
        if await control.over(scheduler, lease):
            return 0
        silence = format_duration(lease)
        sys.stderr.write(f"nothing has been heard of the notebook for {silence}, its lease: the cluster ends\n")
        return 1

    return use


def _interface() -> str | None:
    """Return the network interface that the task's user names, if any."""
    if not (name := os.environ.get(INTERFACE_VARIABLE, "")):
        return None
    try:
        get_ip_interface(name)
    except ValueError as error:
        raise UserError(f"{INTERFACE_VARIABLE}: {error}") from error
    return name


def _follow(lead: Lead, drains: Drains, overheads: WorkerOverheads) -> None:
    """Hand offers over to the scheduler's event loop as they come."""
    loop = asyncio.get_running_loop()

    def follow() -> None:
        for offer in lead.offers():
            loop.call_soon_threadsafe(drains.take, offer)
            loop.call_soon_threadsafe(overheads.take, offer)

    threading.Thread(target=follow, name="offers", daemon=True).start()


async def _report(scheduler: Scheduler, control: Control, lead: Lead) -> None:
    """Report progress and the useful number of hosts to cosched, once a second.

    A wish is said again now and then: a Dask worker that lost its scheduler ends with code 0, and is to be replaced.
    """
    steady, said, again, bounds = SteadyWish(_CALM), 0, 0.0, control.bounds
    while True:
        figures = Figures.of(scheduler)
        useful = steady.now(figures.useful_hosts(thread_count(os.environ)), time.monotonic())
        wish = min(control.hosts(useful), MOST_WISHED)
        with contextlib.suppress(OSError):  # a full disk: it is told the next time
            if figures.done > 0 and figures.left > 0:
                lead.progress(figures.done, figures.done + figures.left)
            if (wished := control.bounds) != bounds:
                lead.resize(*wished)
                bounds = wished
            if wish != said or time.monotonic() >= again:
                lead.wish(wish)
                said, again = wish, time.monotonic() + _WISH_AGAIN
        await asyncio.sleep(_REPORT_EACH)


async def _report_workers(scheduler: Scheduler, speeds: WorkerSpeeds, overheads: WorkerOverheads, lead: Lead) -> None:
    """Report how quick the workers are, where that can be compared, and how they spend their time in their clusters."""
    while True:
        await asyncio.sleep(_SPEEDS_EACH)
        with contextlib.suppress(OSError):  # a full disk: they are told the next time
            if len(found := speeds.now(scheduler)) > 1:
                lead.speeds(found)
            if spent := overheads.now():
                lead.overheads(spent)


async def _own_worker(told: str) -> None:
    """Keep a worker on the lead's host until cancelled."""
    while True:
        environment = {"DASK_LOGGING__DISTRIBUTED": "warning", **os.environ, **QUIET}
        command = worker_command(told, _OWN_WORKER, os.environ)
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        try:
            await process.wait()
            await asyncio.sleep(_PAUSE)
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _PATIENCE)
            except TimeoutError:
                process.kill()
            raise


async def _cancelled(task: asyncio.Future[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a cluster for a script or a notebook; return an exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    serves = len(given) == 2 and given[0] == "--serve"
    if not given or (given[0].startswith("-") and not serves):
        sys.stderr.write("usage: python -m cosched.dask.lead SCRIPT ARGUMENT… | --serve SECONDS\n")
        return 2
    try:
        lead = Lead()
        # Of the mailbox this is the part in which the job's user may keep things.
        folder = Path(os.environ["COSCHED_MAILBOX"]) / "answers" / _TLS_FOLDER
        use = distant_use(float(given[1])) if serves else script_use((sys.executable, *given))
        return asyncio.run(run(lead, folder, use))
    except CoschedError as error:
        sys.stderr.write(f"cosched.dask.lead: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
