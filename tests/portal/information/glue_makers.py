"""Domains to be published."""

from __future__ import annotations

from dataclasses import replace

from cosched.api.documents import HostView
from cosched.app.domain_status import DomainDescription

ADDRESS = "https://north.example:8080/api/v1"


def host(name: str, host_class: str = "", *, up: bool = True, task: str = "", free_at: float | None = None) -> HostView:
    busy = bool(task) or free_at is not None
    return HostView(name=name, host_class=host_class, up=up, reason="", task=task, free_at=free_at, busy=busy)


def published(
    *hosts: HostView,
    applications: tuple[tuple[str, str], ...] = (("sweep3d", "Neutronen für <alle> & 1"),),
    faults: tuple[str, ...] = (),
) -> DomainDescription:
    tasks = {"queued": 3, "forwarded": 7, "dispatching": 1, "running": 2, "cancelling": 1, "completed": 9}
    return DomainDescription(
        domain="north",
        version="1.2",
        connector="local",
        time=1_500_000_000.9,
        hosts=hosts,
        tasks=tasks,
        applications=applications,
        faults=faults,
    )


MIXED = published(
    replace(host("a", "fast"), cores=64, memory=262144),
    replace(host("b", "fast", task="1", free_at=5.0), cores=64, memory=262144),
    replace(host("c", "fast", up=False), cores=64, memory=262144),
    host("d", "größe, x+y", free_at=6.0),
    host("e", "größe, x+y", up=False, free_at=6.0),
)
