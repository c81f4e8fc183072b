"""Admission decides whether a task may come in, as the domain is now.

Start at `DomainState` and `check_deadline_can_be_met`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosched.api.times import format_time
from cosched.app.neighbours.forwarding_status import forwarding_obstacle
from cosched.connector.hosts import HostShare
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.places.shortage import share_text
from cosched.coscheduler.sharing.shares import fewest_hosts
from cosched.coscheduler.task import TaskState
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.errors import UserError
from cosched.licence_requests import format_licences
from cosched.prediction.profile import PredictionSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskRequest
    from cosched.connector.hosts import Host
    from cosched.coscheduler.task import Task
    from cosched.prediction.calibration import Correction

__all__ = [
    "DomainState",
    "check_deadline_can_be_met",
    "check_licences",
    "check_needs",
    "check_partition",
    "check_predecessors",
    "chosen_partition",
    "earliest_end",
    "has_hosts_in_partition",
    "offered_notice",
    "within_reach",
]

_MOST_NEEDED = 1 << 30
_NEEDED = ("memory", "cores", "gpus")
_FIRST_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DomainState:
    """The domain's state that a new task is checked against.

    Attributes:
        time: now, seconds since the epoch.
        hosts: how many there are, up or not; 0 while the manager has not said.
        classes: resource models of the hosts as the manager names them; empty where it does not.
        corrections: learnt corrections of the models, by `Task.correction`.
        accepts_late: whether what will be late here is offered to neighbouring domains.
        sizes: the hosts with their memory, cores and GPUs.
        shares_hosts: whether tasks share hosts.
        elastic: how hosts are lent to elastic tasks.
        carries_mail: whether leads of elastic tasks can speak with cosched.
        licences: how many the domain has of each, by name.
    """

    time: float
    hosts: int
    classes: tuple[str, ...] = ()
    corrections: Mapping[str, Correction] = field(default_factory=dict)
    accepts_late: bool = False
    sizes: tuple[Host, ...] = ()
    shares_hosts: bool = False
    elastic: ElasticSettings = field(default_factory=ElasticSettings)
    carries_mail: bool = True
    licences: Mapping[str, int] = field(default_factory=dict)


def check_predecessors(
    tasks: Iterable[Task], find: Callable[[str], Task | None], principal: Principal | None = None
) -> None:
    """Refuse a task after one that does not exist, or that will never complete.

    Args:
        tasks: the new ones.
        find: the task of an identifier as it stands, None where there is none.
        principal: the user whose tasks may be predecessors; None if that was checked.

    Raises:
        UserError: a task is refused; the message says which.
    """
    for name in dict.fromkeys(name for task in tasks for name in task.spec.after):
        found = find(name)
        if found is None or (principal is not None and not principal.may_see(found.owner)):
            raise UserError(f"there is no task {name[:80]!r} to come after: `cosched task list` shows what there is")
        if found.status.state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.CANCELLING):
            how = "failed" if found.status.state is TaskState.FAILED else "was cancelled"
            raise UserError(f"task {name} {how}: what comes after it would never start; submit that one again first")


def check_needs(task: Task, domain: DomainState) -> None:
    """Refuse a task that needs more of each host than enough of them have."""
    spec = task.spec
    if min(spec.needs) < 0 or max(spec.needs) > _MOST_NEEDED:
        raise UserError(f"it needs {spec.cores} cores and {spec.gpus} GPUs on each host: give numbers from 0 on")
    if not any(spec.needs):
        return
    able, least = sum(host.offers(*spec.needs) for host in domain.sizes), fewest_hosts(task)
    if domain.sizes and able < least:
        largest = (max(getattr(host, name) or 0 for host in domain.sizes) for name in _NEEDED)
        asked = [size if need else 0 for need, size in zip(spec.needs, largest, strict=True)]
        hosts = "no host has" if not able else "1 host has" if able == 1 else f"only {able} hosts have"
        most = f"the largest have {share_text(HostShare(*asked))}" if any(asked) else "they have none"
        raise UserError(
            f"{hosts} {share_text(HostShare(*spec.needs))} for a job, and the task needs that on {least:g}: "
            f"ask for less ({most})"
        )


def chosen_partition(named: Sequence[str], domain: DomainState) -> str:
    """Return the partition that a task is planned in: of several the one with most of the domain's hosts.

    All of a job's hosts are in one.
    """
    return max(named, key=lambda name: sum(name in host.partitions for host in domain.sizes), default="")


def has_hosts_in_partition(task: Task, domain: DomainState) -> bool:
    """Return whether enough of the domain's hosts are in the partition that a task's own file names.

    Where not, the manager chooses its hosts, as long as nobody predicts it.
    """
    able = sum(host.takes_jobs_of(task.spec.partition) for host in domain.sizes)
    return not task.spec.partition or not domain.sizes or able >= fewest_hosts(task)


def check_partition(task: Task, domain: DomainState) -> None:
    """Refuse a predicted task whose own file sends it to a partition in which there are too few of the hosts."""
    if task.profile is None or has_hosts_in_partition(task, domain):
        return
    asked = task.spec.partition
    able = sum(host.takes_jobs_of(asked) for host in domain.sizes)
    hosts = "no host of this domain is" if not able else f"only {plural(able, 'host')} of this domain are"
    there = ", ".join(sorted({name for host in domain.sizes for name in host.partitions}))
    raise UserError(
        f"{hosts} in the partition {asked[:200]}, and its file asks for {fewest_hosts(task):g} there: name another, or "
        f"none (partitions of this domain's hosts: {there[:200]})"
    )


def within_reach(request: TaskRequest, domain: DomainState) -> DomainState:
    """Return the domain with as many hosts as a program that is launched once may have together.

    It finds the others by their names, and has one slot of a machine, not several.

    Raises:
        UserError: it asks for more.
    """
    whole = max(sum(not host.unparted for host in domain.sizes), 1)
    if not request.launch.once or len(domain.sizes) <= whole:
        return domain
    asked = _FIRST_NUMBER.match(str(request.hosts or ""))
    if asked and int(asked[0]) > whole:
        raise UserError(
            f"its program is launched once on {asked[0]} hosts, and hosts here are slots of machines, which a launcher "
            f"does not know by name: ask for {plural(whole, 'host')}, or launch it on each (--launch each)"
        )
    return replace(domain, hosts=min(whole, domain.hosts))


def check_licences(task: Task, domain: DomainState) -> None:
    """Refuse a task that asks for more of a licence than the domain has."""
    for name, amount in task.spec.licences.items():
        total = domain.licences.get(name, 0)
        if amount > total:
            less = "ask for less" if total else "ask for one that it has"
            there = ", ".join(f"{each} {number}" for each, number in sorted(domain.licences.items())) or "none"
            raise UserError(
                f"it asks for {format_licences({name: amount})}, and this domain has {total or 'none'} of it: {less}, "
                f"or an administrator for more (licences here: {there})"
            )


def offered_notice(task: Task, domain: DomainState) -> str:
    """Say that a task is offered elsewhere, as no schedule here meets its deadline.

    Empty where that is not so: it could be met here, the task is welcome late, or no other domain may have it.
    """
    shortest = _unmeetable_run_time(task, domain)
    if shortest is None or task.spec.best_effort or not domain.accepts_late or forwarding_obstacle(task):
        return ""
    return (
        f"its deadline cannot be met here (the shortest prediction is {format_duration(shortest)}), so it is offered "
        "to neighbouring domains; it runs here, late, if none of them ends it sooner"
    )


def check_deadline_can_be_met(task: Task, domain: DomainState) -> None:
    """Refuse a task whose shortest prediction misses its deadline, unless it is welcome late or offered elsewhere.

    Raises:
        UserError: so it is; says which deadline could be met.
    """
    if task.spec.best_effort or (domain.accepts_late and not forwarding_obstacle(task)):
        return
    if task.profile is not None and task.profile.source is PredictionSource.HISTORY:
        return  # what other runs took is no reason to refuse this one
    shortest = _unmeetable_run_time(task, domain)
    if shortest is None or task.profile is None or task.spec.deadline is None:
        return
    if _first_start(task, domain) + min(task.profile.stated or task.profile.seconds) <= task.spec.deadline:
        return  # nor is what they say of a model that would meet it
    start = _first_start(task, domain)
    earliest = math.ceil(start + shortest)
    begin = "" if start == domain.time else f", from its begin {format_time(start)} on"
    raise UserError(
        f"the deadline {format_time(task.spec.deadline)} cannot be met: "
        f"the shortest prediction is {format_duration(shortest)}, "
        f"on {plural(task.profile.quickest.best_count, 'host')}{begin}; "
        f"the earliest deadline that can be met is {format_time(earliest)}, and that with all hosts free: give it or a "
        "later one, or submit it as best effort"
    )


def earliest_end(task: Task, domain: DomainState) -> float | None:
    """Return when a task would end if all hosts were free, seconds since the epoch; None without a prediction."""
    expected = corrected_profile(task, domain.corrections)
    return None if expected is None else _first_start(task, domain) + expected.quickest.shortest


def _unmeetable_run_time(task: Task, domain: DomainState) -> float | None:
    """Return the shortest predicted run time if even that misses the deadline, else None.

    The run would begin now, or as soon as the task may.
    """
    if task.spec.deadline is None:
        return None
    expected = corrected_profile(task, domain.corrections)
    if expected is None:
        return None
    shortest = expected.quickest.shortest
    return shortest if _first_start(task, domain) + shortest > task.spec.deadline else None


def _first_start(task: Task, domain: DomainState) -> float:
    return max(domain.time, task.spec.begin or 0.0)
