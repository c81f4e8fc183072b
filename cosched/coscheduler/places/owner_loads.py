"""What owners who come back to their hosts mean for a task, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.places.hosts import heaviest_load
from cosched.durations import format_duration
from cosched.prediction.loads.host_load import Coupling, Interruption
from cosched.prediction.loads.loaded_profile import loaded_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["owner_sentences"]


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
    alone = profile.on(len(hosts))
    with_owners = loaded_profile(profile, load, core.settings.interruption).on(len(hosts))
    whose = "their owners are" if len(hosts) > 1 else "its owner is"
    which = "its hosts" if len(hosts) > 1 else f"host {hosts[0]}"
    return [
        f"{which}: {whose} expected to take {load.lost:.0%} at this hour, so that {format_duration(with_owners)} are "
        f"predicted in place of {format_duration(alone)}: {format_duration(with_owners - alone)} of delay"
        f"{_reason(core, profile, len(hosts))}"
    ]


def _reason(core: Coscheduler, profile: Profile, count: int) -> str:
    """Say what has the delay of one host become that of a task on several, or on one that is left."""
    if core.settings.interruption is Interruption.EVICT:
        return ", as an owner drives its job away, which begins again"
    if count == 1:
        return ""
    if profile.coupling is Coupling.INDEPENDENT:
        return ", as its parts are independent: it ends with the last of them"
    return ", as its parts are coupled: it waits for the owner of each"
