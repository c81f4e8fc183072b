"""Sentences on why a task runs longer than alone on dedicated hosts: owners who come back, others beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.places.contention import contention_key, contention_on
from cosched.coscheduler.places.hosts import heaviest_load
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.prediction.loads.host_load import Coupling, Interruption
from cosched.prediction.loads.loaded_profile import loaded_profile_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["contention_change", "contention_sentences", "owner_sentences"]

_TOLD = 1.005  # times longer; less is 0 %


def owner_sentences(core: Coscheduler, task: Task, hosts: Sequence[str]) -> list[str]:
    """Say how much longer a task is predicted to run on hosts with owners, and why; nothing of dedicated ones.

    Args:
        core: the domain.
        task: a live task, in the shape that it has or will have.
        hosts: those it has or will have.
    """
    load = heaviest_load(hosts, core.domain.loads)
    if load is None:
        return []
    there = task.on(core.domain.classes_of(hosts))
    profile = corrected_profile(there, core.corrections())
    if profile is None:
        return []
    alone, loads = profile.on(len(hosts)), [core.domain.loads[host] for host in hosts if host in core.domain.loads]
    if math.isinf(alone):
        return []
    with_owners = loaded_profile_on(profile, loads, len(hosts), core.settings.interruption).on(len(hosts))
    whose = "their owners are" if len(hosts) > 1 else "its owner is"
    which = "its hosts" if len(hosts) > 1 else f"host {hosts[0]}"
    most = "" if len(loads) == len(hosts) and len(set(loads)) == 1 else "up to "
    return [
        f"{which}: {whose} expected to take {most}{load.lost:.0%} at this hour, so that "
        f"{format_duration(with_owners)} are predicted in place of {format_duration(alone)}: "
        f"{format_duration(with_owners - alone)} of delay"
        f"{_reason_of_delay(core, profile, len(hosts))}"
    ]


def _reason_of_delay(core: Coscheduler, profile: Profile, count: int) -> str:
    """Say why the delay of one host becomes the task's: by its coupling, or by eviction."""
    if core.settings.interruption is Interruption.EVICT:
        return ", as an owner drives its job away, which begins again"
    if count == 1:
        return ""
    if profile.coupling is Coupling.INDEPENDENT:
        return ", as its parts are independent: it ends with the last of them"
    return ", as its parts are coupled: it waits for the owner of each"


def contention_sentences(core: Coscheduler, task: Task, hosts: Sequence[str]) -> list[str]:
    """Say how much longer a task is predicted to run beside others; nothing where that is not known, or nothing.

    Args:
        core: the domain.
        task: a live task, in the shape that it has or will have.
        hosts: those it has or will have.
    """
    found = _expected(core, task, hosts)
    if found is None:
        return []
    return [
        f"beside others on {found.which} it is predicted to run {found.longer - 1:.0%} longer than alone: "
        f"{format_duration(found.alone * found.longer)} in place of {format_duration(found.alone)} ({found.why})"
    ]


def contention_change(core: Coscheduler, task: Task, hosts: Sequence[str]) -> list[str]:
    """Say how much sooner a waiting task would end alone on its hosts; arguments as of `contention_sentences`."""
    found = _expected(core, task, hosts)
    if found is None:
        return []
    return [
        f"alone on {found.which} (`--exclusive`) it would run {format_duration(found.alone)} instead of "
        f"{format_duration(found.alone * found.longer)}: beside others it is predicted to run "
        f"{found.longer - 1:.0%} longer ({found.why})"
    ]


class _Expected(NamedTuple):
    """Expected slowdown beside others: factor, seconds alone, the hosts in words and the origin of the factor."""

    longer: float
    alone: float
    which: str
    why: str


def _expected(core: Coscheduler, task: Task, hosts: Sequence[str]) -> _Expected | None:
    longer = contention_on(core.domain, core.contention, task, hosts)
    there = task.on(core.domain.classes_of(hosts))
    profile = corrected_profile(there, core.corrections())
    if longer < _TOLD or profile is None:
        return None
    known = core.contentions().get(contention_key(there, profile.hardware))
    why = "as the configuration says"
    if known is not None and known.exponent is not None:
        why = f"learnt from {plural(len(known.runs), 'run')}"
    return _Expected(longer, profile.on(len(hosts)), "its host" if len(hosts) == 1 else "its hosts", why)
