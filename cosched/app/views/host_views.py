"""Documents of hosts: what runs there, what is free and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import (
    FreeView,
    HostView,
)
from cosched.app.views.task_views import visible_task
from cosched.connector.hosts import HostShare
from cosched.coscheduler.places.hosts import predicted_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principals import Principal
    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler

__all__ = ["host_views"]


def _attempts_by_host(core: Coscheduler) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in core.attempts.values():
        for host in attempt.reckoned_hosts if attempt.takes_hosts else ():
            found.setdefault(host, []).append(attempt)
    return found


def host_views(principal: Principal, core: Coscheduler, time: float) -> list[HostView]:
    """Return all hosts by name; occupied by other users' tasks, without their names."""
    occupied = _attempts_by_host(core)
    whole = core.domain.claims(time)
    parts = {held.host: held for held in core.domain.held((), time)}
    claims = whole | {name: held.until for name, held in parts.items()}
    handover = core.planning_view.assumptions(time).handover
    left = core.domain.left(core.attempts.values()) if core.domain.shared else {}
    reserved = {host: each.title for each in core.reservations.live(time) if each.begin <= time for host in each.hosts}
    views = []
    for host in sorted(core.domain.hosts.values(), key=lambda host: host.name):
        here = occupied.get(host.name, [])
        shown = [visible_task(principal, core, name) for name in dict.fromkeys(attempt.task for attempt in here)]
        task, known = shown[-1] if shown and (len(shown) == 1 or not core.domain.shared) else ("", None)
        owners = {"" if each is None else each.owner for _, each in (shown if core.domain.shared else [(task, known)])}
        views.append(
            HostView(
                name=host.name,
                host_class=host.host_class,
                up=host.up,
                reason=host.reason,
                task=task,
                owner=", ".join(sorted(owners - {""})),
                free_at=_free_at(host, here, claims.get(host.name), time, handover),
                reserved=reserved.get(host.name, ""),
                memory=host.memory,
                cores=host.cores,
                gpus=host.gpus,
                tasks=tuple(sorted([name for name, _ in shown if name], key=_by_number)) if core.domain.shared else (),
                free=_free_view(host, left[host.name], whole=host.name in whole) if left else None,
                others_until=claims.get(host.name),
                others_cores=parts[host.name].share.cores if host.name in parts and host.name not in whole else 0,
                cluster=host.cluster,
                busy=bool(here) or host.name in claims,
            )
        )
    return views


def _free_at(
    host: Host, attempts: Sequence[Attempt], others_until: float | None, time: float, handover: float
) -> float | None:
    """Return when a host's last job ends, of jobs that are not ours where it has no others; None where nobody says."""
    if not attempts:
        return None if host.free_at is None else others_until
    # A worker on a promised host is there for as long as its lead, which counts on this host, too.
    lasting = [attempt for attempt in attempts if not attempt.worker or attempt.loan]
    known = [end for each in lasting if (end := predicted_end(each, time, handover)) is not None]
    return max(known) if known and len(known) == len(lasting) else None


def _by_number(task: str) -> tuple[int, str]:
    return len(task), task


def _free_view(host: Host, left: HostShare, *, whole: bool) -> FreeView:
    """Return the free share of a host; nothing where others have the whole."""
    if whole or not host.up:
        left = HostShare()
    return FreeView(
        memory=None if host.memory is None else max(left.memory, 0), cores=max(left.cores, 0), gpus=max(left.gpus, 0)
    )
