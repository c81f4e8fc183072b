"""What of a task's request is not free now, in words.

Start at `shortage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.sizes import format_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.hosts import HostShare
    from cosched.coscheduler.places.hosts import DomainHosts
    from cosched.coscheduler.task import TaskSpec

__all__ = ["share_text", "shortage"]


def share_text(share: HostShare) -> str:
    """Return a share in words: "8 cores, 4G of memory and 1 GPU"."""
    parts = [_text(name, getattr(share, name)) for name in ("cores", "memory", "gpus") if getattr(share, name)]
    return _joined(parts) or "nothing"


def shortage(domain: DomainHosts, spec: TaskSpec, hosts: int, left: Mapping[str, HostShare]) -> str:
    """Return what is not free on enough shared hosts for a task: "64G of memory on 2 hosts"; empty where all is.

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


def _text(resource: str, amount: int) -> str:
    if resource == "memory":
        return f"{format_memory(amount)} of memory"
    return plural(amount, "core" if resource == "cores" else "GPU")


def _joined(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
