"""`make demo-grid`: three domains, each with a daemon of its own, forward real tasks to one another over mutual TLS.

All tasks are submitted to the first domain, which cannot end them by their deadlines; the table says where each went,
and why. Domains are stopped and gone afterwards.
"""

from __future__ import annotations

import argparse
import itertools
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rich.table import Table

from cosched.api.documents import TaskRequest
from cosched.errors import SystemFault
from cosched.simulation.kernels import draw_kernel_tasks
from demo.commands import command
from demo.live import wide_console
from demo.ports import free_ports
from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.api.documents import TaskDetail

__all__ = ["NAMES", "await_neighbours", "certify", "forwarded", "grid", "main", "peer", "submit", "table", "where"]

NAMES = ("alpha", "beta", "gamma")
_FINAL = ("completed", "failed", "cancelled")
_PATIENCE = 120.0


@contextmanager
def grid(
    connectors: Sequence[str], *, scale: float, lease: float = 10.0, commands: bool = False, site: type[Site] = Site
) -> Iterator[list[Site]]:
    """Run one domain for each connector, every one a neighbour of every other.

    Args:
        connectors: "local", "condor" or "slurm".
        scale: seconds that one published second takes.
        lease: of the agents, seconds.
        commands: whether they run commands of others, and files of their users.
        site: the class that starts the daemons.
    """
    with ExitStack() as stack:
        sites = [
            stack.enter_context(
                site(connector, scale=scale, noise=0.0, settings=_settings(name, lease, commands), prepare=certify)
            )
            for name, connector in zip(NAMES, connectors, strict=False)
        ]
        for one, other in itertools.permutations(sites, 2):
            peer(one, "add", str(other.folder / "peer.toml"))
        await_neighbours(sites)
        yield sites


def submit(site: Site, count: int, scale: float, *, seed: int = 1, slack: float = 1.3) -> float:
    """Submit tasks that one domain alone cannot end in time, all with one deadline; return that, epoch seconds.

    Args:
        site: where.
        count: how many tasks.
        scale: seconds that one published second takes.
        seed: of the draw of kernels.
        slack: the deadline in units of the longest task's time on few hosts.
    """
    orders = draw_kernel_tasks(count, seed, scale=scale)
    deadline = time.time() + slack * 30.0 * scale
    with site.client() as client:
        client.submit_all([TaskRequest(application=order.kernel, deadline=deadline) for order in orders])
    return deadline


def forwarded(sites: Sequence[Site], patience: float) -> list[TaskDetail]:
    """Wait until every task of the first domain has ended; return them, oldest first.

    Raises:
        SystemFault: it takes longer than `patience` seconds.
    """
    until = time.monotonic() + patience
    with sites[0].client() as client:
        while True:
            tasks = sorted(client.tasks(limit=1000).tasks, key=lambda task: int(task.id))
            if all(task.state in _FINAL for task in tasks):
                return [client.task(task.id) for task in tasks]
            if time.monotonic() > until:
                raise SystemFault(f"not ended: {', '.join(f'{task.id} {task.state}' for task in tasks)}")
            time.sleep(0.2)


def where(task: TaskDetail, first: str) -> str:
    """Return the domain in which a task of the first domain ended."""
    return task.peer or first


def table(tasks: Sequence[TaskDetail], first: str) -> Table:
    """Return where each task went and why."""
    found = Table("task", "application", "state", "ended in", "deadline", "why there", title="Where tasks went")
    for task in tasks:
        spare = None if task.deadline is None or task.finished is None else task.deadline - task.finished
        met = "" if spare is None else f"met, {spare:.1f} s left" if spare >= 0 else f"missed by {-spare:.1f} s"
        went = [one for one in task.handovers if one.state == "ended"]
        here = f"{first} did it in time" if task.on_time else "nobody offered to be less late"
        why = went[-1].why if went else here
        found.add_row(task.id, task.application, task.state, where(task, first), met, why)
    return found


def main() -> None:
    """Run the demonstration; exits with 1 where a task did not complete, or none was forwarded."""
    options = _options()
    console = wide_console()
    connectors = options.connectors.split(",")
    console.print(
        f"{len(connectors)} domains of 16 hosts: "
        + ", ".join(f"{name} ({connector})" for name, connector in zip(NAMES, connectors, strict=False))
    )
    with grid(connectors, scale=options.scale) as sites:
        submit(sites[0], options.tasks, options.scale)
        console.print(f"{options.tasks} tasks submitted to {NAMES[0]}")
        tasks = forwarded(sites, 170.0)
        peers = peer(sites[0], "list", "--server", sites[0].server)
        done = peer(sites[0], "advice", "--server", sites[0].server)
    console.print(table(tasks, NAMES[0]))
    console.print(peers)
    console.print(f"The agent of {NAMES[0]}:\n{done}", markup=False)
    ended = [where(task, NAMES[0]) for task in tasks]
    met = sum(bool(task.on_time) for task in tasks)
    spread = ", ".join(f"{ended.count(name)} in {name}" for name in NAMES[: len(connectors)])
    console.print(f"{len(tasks)} tasks: {spread}; {met} by their deadline")
    if any(task.state != "completed" for task in tasks) or len(set(ended)) < 2:
        raise SystemExit("a task did not complete, or none was forwarded")


def _settings(name: str, lease: float, commands: bool) -> dict[str, dict[str, object]]:
    return {
        "domain": {"name": name},
        "agent": {"listen": f"127.0.0.1:{free_ports(1)[0]}", "period": 2, "lease": lease, "commands": commands},
    }


def certify(site: Site) -> None:
    """Make a domain's key, certificate and the file for its neighbours, `peer.toml` in its folder."""
    peer(site, "init", "--out", str(site.folder / "peer.toml"))


def peer(site: Site, *arguments: str) -> str:
    """Run `cosched peer` in a domain and return what it says.

    Raises:
        SystemFault: it fails.
    """
    config = () if "--server" in arguments else ("--config", str(site.config))
    return command("peer", *arguments, *config)


def await_neighbours(sites: Sequence[Site]) -> None:
    """Wait until every daemon knows how many hosts every other has."""
    until = time.monotonic() + _PATIENCE
    for site in sites:
        added = len(list((site.folder / "state" / "peers.d").glob("*.toml")))
        with site.client() as client:
            while sum(bool(neighbour.hosts) for neighbour in client.peers()) < added:
                if time.monotonic() > until:
                    raise SystemFault(f"the agents do not find one another: {client.peers()}")
                time.sleep(0.2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo.grid", description=__doc__)
    parser.add_argument(
        "--connectors", default="local,local,local", help="one for each domain, e.g. local,condor,slurm"
    )
    parser.add_argument("--tasks", type=int, default=36)
    parser.add_argument("--scale", type=float, default=0.5, help="seconds that one published second takes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
