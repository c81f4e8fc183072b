"""A domain as one sees it at work: users with accounts and tasks, a neighbour, a failure, a notice, a reservation."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.api.documents import (
    AccountRequest,
    NoticeRequest,
    ReservationRequest,
    TaskRequest,
    TokenRequest,
)
from cosched.client import Client
from cosched.simulation.kernels import KERNELS
from demo.grid import await_neighbours, certify, peer
from demo.ports import free_ports
from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ADMINISTRATOR", "People", "Shown", "come_to_life", "people", "sample_sites"]

ADMINISTRATOR = "mira"
_USERS = ("anna", "ben", "cleo")
_PASSWORD = "as long as it must be"
_NAMES = {
    "sweep3d": "shielding {}",
    "fft": "spectra {}",
    "improc": "galaxy stack {}",
    "closure": "road graph {}",
    "jacobi": "heat plate {}",
    "memsort": "event list {}",
    "cpi": "calibration {}",
}
_APPLICATIONS = {
    "sweep3d": "Neutron transport: sweeps through a grid of three dimensions.",
    "fft": "Spectra of long signals by fast Fourier transforms.",
    "improc": "Stacks and sharpens images of the sky.",
    "closure": "Which places of a network reach which others.",
    "jacobi": "Heat in a plate by Jacobi iterations.",
    "memsort": "Sorts event lists in memory.",
    "cpi": "Calibration runs by quadrature.",
}
_SOLVER = """import time
for step in range(1, 4000):
    print(f"step {step:4d}  residual {0.31 * 0.97 ** step:.3e}  {step * 0.02:6.2f} ns", flush=True)
    time.sleep(0.5)
"""
_BROKEN = """import sys
print("reading mesh/wing-0412.vtk", flush=True)
print("cells: 412,886", flush=True)
open("mesh/wing-0412.vtk")
"""


@contextmanager
def sample_sites() -> Iterator[tuple[Site, Site]]:
    """Run two domains of local slots that forward tasks to each other: the one that is shown, and its neighbour."""
    with ExitStack() as stack:
        sites = [
            stack.enter_context(Site("local", scale=1.0, hosts=hosts, settings=_settings(name), prepare=_prepared))
            for name, hosts in (("physics", 16), ("chemistry", 3))
        ]
        for one, other in (sites, reversed(sites)):
            peer(one, "add", str(other.folder / "peer.toml"))
        await_neighbours(sites)
        yield sites[0], sites[1]


def _prepared(site: Site) -> None:
    """Certify the domain, and tell in its catalogue what its applications are."""
    certify(site)
    for name, words in _APPLICATIONS.items():
        file = site.folder / "applications.d" / f"{name}.toml"
        file.write_text(f'description = "{words}"\n{file.read_text()}')


def _settings(name: str) -> dict[str, dict[str, object]]:
    agent = {"listen": f"127.0.0.1:{free_ports(1)[0]}", "period": 2, "lease": 10.0}
    return {"domain": {"name": name}, "agent": agent}


@dataclass(frozen=True, slots=True)
class People:
    """Clients of the domain: its administrator, and its users by name."""

    administrator: Client
    users: dict[str, Client]


@contextmanager
def people(site: Site) -> Iterator[People]:
    """Give the domain accounts, and each of its people a client with a token."""
    with ExitStack() as stack:
        root = stack.enter_context(site.client())
        address = root.login_link().url.partition("/login")[0]
        clients = {}
        for name in (ADMINISTRATOR, *_USERS):
            role = "administrator" if name == ADMINISTRATOR else "user"
            root.add_account(AccountRequest(name=name, password=_PASSWORD, role=role))
            scopes = ("read", "submit", "manage", "metrics")
            token = root.create_token(TokenRequest(user=name, role=role, scopes=scopes, note=f"{name}'s notebook"))
            clients[name] = stack.enter_context(Client(address, token=token.token))
        yield People(clients.pop(ADMINISTRATOR), clients)


@dataclass(frozen=True, slots=True)
class Shown:
    """Identifiers of tasks, each the picture of something: one that waits, runs, is late, has failed, was forwarded."""

    waiting: str
    running: str
    late: str
    failed: str
    completed: str
    forwarded: str


def come_to_life(site: Site, known: People) -> Shown:
    """Let the domain work for some minutes; return tasks of each kind, where there is none of a kind, another one."""
    draw = random.Random(7)
    _remember(known, draw)
    failed = _submit(known, "ben", TaskRequest(command=("/usr/bin/python3", "-c", _BROKEN), name="wing 0412"))
    running = _submit(
        known,
        "anna",
        TaskRequest(command=("/usr/bin/python3", "-c", _SOLVER), profile=(1100.0, 700.0), hosts=1, name="protein 2lyz"),
    )
    known.users["ben"].wait([failed], timeout=240)
    site.take_host("host11")
    until = time.time() + 3000
    known.administrator.reserve(ReservationRequest(hosts=("host14", "host15"), end=until, name="new memory"))
    notice = NoticeRequest(text="Cooling is serviced on Friday from 18:00 to 20:00.", until=until)
    known.administrator.write_notice(notice)
    for number in range(1, 43):
        task = _kernel(draw, number, draw.choice((4.0, 8.0, 12.0)), draw.uniform(300, 1800))
        _submit(known, draw.choice(_USERS), task)
    held = _submit(known, "cleo", _kernel(draw, 43, 1.0, 1800))
    known.users["cleo"].hold(held)
    time.sleep(30.0)  # meanwhile plans become better, tasks leave for the neighbour, and the first ones end
    late = _submit(known, "anna", _kernel(draw, 44, 12.0, 45, "sweep3d"))
    time.sleep(5.0)
    return _found(known, failed=failed, running=running, late=late, completed="1")


def _remember(known: People, draw: random.Random) -> None:
    """Let each user run short tasks, one round after another, so that there is a past."""
    for number in range(4):
        for client in known.users.values():
            short = [_kernel(draw, number, draw.uniform(0.02, 0.08), 60, kernel) for kernel in KERNELS]
            made = client.submit_all([*short, *draw.sample(short, 3)])
            client.wait([task.id for task in made], timeout=120)


def _kernel(draw: random.Random, number: int, scale: float, ahead: float, kernel: str = "") -> TaskRequest:
    kernel = kernel or draw.choice(list(KERNELS))
    return TaskRequest(
        application=kernel,
        parameters={"Scale": scale},
        deadline=time.time() + ahead,
        name=_NAMES[kernel].format(number),
        best_effort=True,
    )


def _submit(known: People, user: str, task: TaskRequest) -> str:
    return known.users[user].submit(task).id


def _found(known: People, **named: str) -> Shown:
    tasks = known.administrator.tasks(limit=1000).tasks
    waiting = [task.id for task in tasks if task.state == "queued" and task.id != named["late"]]
    # One that runs there stays there; one that waits may come back.
    forwarded = [task.id for task in sorted(tasks, key=lambda task: task.started is None) if task.state == "forwarded"]
    return Shown(
        waiting=waiting[len(waiting) // 2] if waiting else named["late"],
        forwarded=forwarded[0] if forwarded else named["completed"],
        **named,
    )
