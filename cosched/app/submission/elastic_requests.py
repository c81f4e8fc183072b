"""Checks the requests of elastic tasks; start at `elastic_of`."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.app.submission.field_checks import checked_command
from cosched.connector.hosts import HostShare
from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.elastic.values import Elastic
from cosched.coscheduler.sharing.shares import fewest_hosts
from cosched.durations import format_duration, parse_duration
from cosched.errors import UserError
from cosched.language.diagnostics import suggestion
from cosched.sizes import parse_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.api.documents import ElasticRequest, TaskRequest
    from cosched.app.submission.admission import DomainState
    from cosched.connector.hosts import Host
    from cosched.coscheduler.task import Task
    from cosched.prediction.catalogue import CatalogueEntry, ParameterValue

__all__ = [
    "check_beside_workers",
    "check_predicted",
    "check_promisable",
    "elastic_of",
    "elastic_of_chain",
    "with_grace_of",
    "with_places",
]

_LONGEST_COST = 86_400.0  # seconds of a restart
_PLACEHOLDERS = ("lead", "worker")
_BRACED = re.compile(r"\{\{\w+\}\}|\{(\w+)\}", re.ASCII)  # {{name}} is the worker's own


def elastic_of(request: TaskRequest, domain: DomainState) -> Elastic | None:
    """Return how a request's task changes its hosts; None for one that is not elastic.

    Raises:
        UserError: it cannot be elastic as asked.
    """
    asked = request.elastic
    if asked is None:
        return None
    if domain.shares_hosts and asked.kind == "restart":
        raise UserError(
            "tasks share hosts here, and a program that is restarted on others needs whole ones: submit it without "
            "--elastic, with a fixed number of hosts"
        )
    if asked.kind not in ("workers", "restart"):
        raise UserError(f"the elastic kind is {asked.kind[:80]!r}: write workers or restart")
    terms = domain.elastic
    grace = terms.grace if asked.grace is None else parse_duration(asked.grace, "the grace")
    if not 0 <= grace <= terms.longest_grace:
        raise UserError(f"the grace is {format_duration(grace)}: give up to {format_duration(terms.longest_grace)}")
    if asked.kind == "restart":
        return _restart(asked, grace, domain)
    if asked.cost is not None or asked.force:
        raise UserError("a restart's cost and force are of elastic tasks that are restarted: leave them out")
    if not asked.worker or not asked.worker[0].startswith("/"):
        given = asked.worker[0] if asked.worker else ""
        raise UserError(f"the worker's command starts with {given[:80]!r}: give the program's absolute path")
    worker = checked_command(asked.worker)
    _check_placeholders(worker)
    needs_lead = any("lead" in _BRACED.findall(word) for word in worker)
    if needs_lead and not domain.carries_mail:
        if "cosched.dask.worker" in worker:
            raise UserError(
                "jobs of this domain's resource manager cannot tell cosched an address, and workers of Dask must know "
                "that of its scheduler: a Dask computation cannot run here"
            )
        raise UserError(
            "the worker's command has {lead}, and jobs of this domain's resource manager cannot tell cosched an "
            "address: leave it out, and have workers find the lead through a file that all hosts see"
        )
    return Elastic(worker, needs_lead, grace)


def elastic_of_chain(
    entry: CatalogueEntry, values: Mapping[str, ParameterValue], domain: DomainState
) -> Elastic | None:
    """Return how a tunable application changes its hosts whose one program stays through all stages; None for others.

    Raises:
        UserError: none can here.
    """
    if not entry.worker:
        return None
    if domain.shares_hosts or not domain.carries_mail:
        why = "tasks share hosts here" if domain.shares_hosts else "jobs here cannot speak with cosched"
        raise UserError(
            f"{entry.name} is one program with workers through all of its stages, and {why}: its administrator gives "
            "each stage a command of its own"
        )
    worker = entry.worker_arguments(values)
    needs_lead = any("{lead}" in word for word in worker)
    return Elastic(worker, needs_lead, domain.elastic.of(entry.name, "").grace, whole_chain=True)


def _check_placeholders(worker: Sequence[str]) -> None:
    """Refuse words in braces that are nearly a placeholder's; others are the worker's own."""
    for name in [name for word in worker for name in _BRACED.findall(word) if name not in ("", *_PLACEHOLDERS)]:
        if near := suggestion(name, _PLACEHOLDERS):
            raise UserError(
                f"the worker's command has {{{name}}}{near} {{lead}} becomes the lead's address, {{worker}} its own "
                f"number, {{{{{name}}}}} braces of its own"
            )


def _restart(asked: ElasticRequest, grace: float, domain: DomainState) -> Elastic:
    """Return how a task is restarted that has a program which checkpoints."""
    if asked.worker:
        raise UserError("an elastic task that is restarted has no workers: leave the worker's command out")
    if not domain.carries_mail:
        raise UserError(
            "jobs of this domain's resource manager cannot be told to checkpoint and stop: submit it without "
            "--elastic, with a fixed number of hosts"
        )
    cost = None if asked.cost is None else parse_duration(asked.cost, "the cost of a restart")
    if cost is not None and not (math.isfinite(cost) and 0 <= cost <= _LONGEST_COST):
        raise UserError(f"the restart's cost is {format_duration(cost)}: give up to {format_duration(_LONGEST_COST)}")
    return Elastic((), grace=grace, restart=True, cost=cost, force=asked.force)


def with_grace_of(task: Task, request: TaskRequest, domain: DomainState, owner: str) -> Task:
    """Return an elastic task with the grace of its application or user, where its request does not say another."""
    elastic = task.spec.elastic
    if elastic is None or request.elastic is None or request.elastic.grace is not None:
        return task
    grace = domain.elastic.of(task.spec.application, owner).grace
    return replace(task, spec=replace(task.spec, elastic=replace(elastic, grace=grace)))


def check_beside_workers(request: TaskRequest) -> None:
    """Refuse what an elastic task cannot have beside it."""
    if request.elastic is None:
        return
    if request.native is not None:
        raise UserError("a file of the user's own describes one job: an elastic task is a command")
    if request.elastic.kind == "restart":
        pass  # its program is started as any other's
    elif request.launch is not LaunchMode.EACH or request.processes_per_host > 1 or request.processes:
        raise UserError(
            "the command of an elastic task runs once, on its first host, and its worker once on each other: leave "
            "launch, mpi and processes out"
        )
    if request.shapes or isinstance(request.cores, str):
        raise UserError(
            "an elastic task takes the same of each host: give one number of cores, and run times by hosts alone"
        )


def with_places(request: TaskRequest, domain: DomainState) -> DomainState:
    """Return the domain with as many hosts as an elastic task may have places, where these are parts of hosts.

    Of those for which it gives no run times, and that it does not ask for, no more count than there are hosts.
    """
    if request.elastic is None or not domain.shares_hosts or request.exclusive:
        return domain
    asked = [int(number) for number in re.findall(r"\d{1,9}", str(request.hosts or ""))]
    most = max([domain.hosts, *asked, len(request.profile or ())])
    share = HostShare(parse_memory(request.memory), int(request.cores or 1), request.gpus)
    places = sum(_places(share, host) for host in domain.sizes if host.offers(share.memory, share.cores, share.gpus))
    return replace(domain, hosts=max(min(places, most), domain.hosts))


def _places(share: HostShare, host: Host) -> int:
    """Return how many times a share fits into a host; it fits into one at least."""
    pairs = ((share.cores, host.cores or 1), (share.memory, host.memory), (share.gpus, host.gpus))
    return 1 if host.unparted else max(min(had // wanted for wanted, had in pairs if wanted and had is not None), 1)


def check_promisable(task: Task, domain: DomainState) -> None:
    """Refuse an elastic task that must be promised places on more hosts than there are."""
    if task.spec.elastic is not None and domain.hosts and (least := fewest_hosts(task)) > domain.hosts:
        raise UserError(
            f"its fewest places, {least:g} with its lead's, are promised on different hosts, and the domain has "
            f"{domain.hosts}: give run times for fewer, too"
        )


def check_predicted(task: Task) -> None:
    """Refuse an elastic task without run times by number of hosts."""
    if task.spec.elastic is not None and task.profile is None:
        raise UserError(
            "nothing says how long this elastic task takes on how many hosts, so that no number can be promised: give "
            "--runtime 2:60m,4:32m,8:18m, or a model"
        )
