"""Resources of a request that are not free now, in words.

Start at `shortage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.sizes import format_memory

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cosched.connector.hosts import HostShare
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.places.hosts import DomainHosts
    from cosched.coscheduler.task import TaskSpec

__all__ = ["needs_text", "shape_text", "share_text", "shortage"]


def share_text(share: HostShare) -> str:
    """Return a share in words: "8 cores, 4G of memory and 1 GPU"."""
    parts = [_text(name, getattr(share, name)) for name in ("cores", "memory", "gpus") if getattr(share, name)]
    return _joined(parts) or "nothing"


def shortage(domain: DomainHosts, spec: TaskSpec, hosts: int, left: Mapping[str, HostShare]) -> str:
    """Return the resources that too few shared hosts have free for a task: "64G of memory on 2 hosts".

    Empty where enough have all.

    Args:
        domain: the hosts.
        spec: what the task asks for.
        hosts: how many it takes.
        left: what is free of each host.
    """
    share, up = domain.share_of(spec), [name for name in domain.mine() if name in left]
    if share is None:
        idle = sum(left[name] == domain.size(name) for name in up)
        return "" if idle >= hosts else "a host for itself" if hosts == 1 else f"{hosts} hosts for itself"
    if sum(share.within(left[name]) for name in up) >= hosts:
        return ""
    wanted = [name for name in ("cores", "memory", "gpus") if getattr(share, name)]
    short = [name for name in wanted if sum(getattr(left[each], name) >= getattr(share, name) for each in up) < hosts]
    # Each may be free on hosts enough, and all of them together on too few.
    parts = _joined([_text(name, getattr(share, name)) for name in short or wanted])
    return f"{parts} on {'one host' if hosts == 1 else f'{hosts} hosts'}"


def shape_text(domain: DomainHosts, spec: TaskSpec, hosts: int) -> str:
    """Return what a task takes of so many hosts: "4 cores of each of 3 hosts, 4 processes on each"."""
    share = domain.share_of(spec)
    processes = f", {spec.processes_per_host} processes on each" if spec.processes_per_host > 1 else ""
    if share is None:
        return f"{plural(hosts, 'host')}{' for itself' if domain.shared else ''}{processes}"
    return f"{share_text(share)} of {'one host' if hosts == 1 else f'each of {hosts} hosts'}{processes}"


def needs_text(domain: DomainHosts, spec: TaskSpec, hosts: int, attempts: Collection[Attempt]) -> str:
    """Say what a job without planned hosts needs, and how many hosts have that free by our books.

    Args:
        domain: the hosts.
        spec: what the task asks for.
        hosts: how many it takes.
        attempts: all live ones.
    """
    if domain.shared:
        left, share = domain.left(attempts), domain.share_of(spec)
        free = sum(
            left[name] == domain.size(name) if share is None else share.within(left[name]) for name in domain.mine()
        )
    else:
        free = len(set(domain.mine()).difference(domain.occupied(attempts, 0.0)))
    have = "host has" if free == 1 else "hosts have"
    return f"it needs {shape_text(domain, spec, hosts)}: {free} {have} that free now, of {len(domain.up())}"


def _text(resource: str, amount: int) -> str:
    if resource == "memory":
        return f"{format_memory(amount)} of memory"
    return plural(amount, "core" if resource == "cores" else "GPU")


def _joined(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
