"""Nodes of 64 cores of a real manager, and three books of them: `python -m benchmarks.nodes --real condor|slurm`.

Tasks of three users arrive together: rigid ones, some with GPUs, some bound by memory, some on one or two hosts, some
of which cosched chooses the cores, some with licences. Then cosched's book, the manager's and the jobs' own diaries are
held against one another: the same hosts, cores, memory and GPUs by all three, no host with more than it has, and each
difference of a look meanwhile beside a begin or end that is younger than the reporting delay. That is measured: the
longest time between a line of a diary and the look that first found the report of it in cosched's log.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.shared_workload import draw_workload
from cosched.api.documents import ShapeFigure, TaskRequest, TokenRequest
from cosched.client import Client
from demo.site import Site
from tests.testbed.diaries import DIARY, overfilled, read_diary
from tests.testbed.node_size import NodeSize
from tests.testbed.three_books import (
    Watch,
    compared,
    manager_keys,
    managers_book,
    our_book,
    overdrawn,
    reporting_delays,
    unexplained,
)

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.shared_workload import WorkloadJob

__all__ = ["compare_books"]

_NODE = NodeSize()
_LICENCES = {"matlab": 4, "ansys": 6}
_PATIENCE = 3600.0
_LONGEST = 30.0  # seconds of a job
_CHOICES = {8: 1.0, 16: 0.6, 32: 0.4}  # cores of one host, and what part of its seconds a job takes with them


def compare_books(connector: str, tasks: int, nodes: int) -> None:
    """Run tasks through a fresh pool, print what the three books say, and end with their faults, if any."""
    settings: dict[str, dict[str, Any]] = {"planning": {"share_hosts": True}, "licences": _LICENCES}
    with ExitStack() as stack:
        site = stack.enter_context(Site(connector, scale=1.0, hosts=nodes, settings=settings, node=_NODE))
        assert site.pool is not None
        site.settle()
        script = site.folder / "diary.sh"
        script.write_text(DIARY)
        client = stack.enter_context(site.client())
        jobs = [job for job in draw_workload() if connector == "slurm" or job.hosts == 1][:tasks]
        by_user: dict[str, list[TaskRequest]] = {}
        for number, job in enumerate(jobs):
            by_user.setdefault(job.user, []).append(_request(site.journal, script, number, job))
        began, ids = time.time(), list[str]()
        with Watch(client, site.pool) as watch:
            for user, requests in by_user.items():
                token = client.create_token(TokenRequest(user=user)).token
                with Client(site.server, token=token) as own:
                    ids += [task.id for task in own.submit_all(requests)]
            done = client.wait(ids, _PATIENCE)
        seconds = time.time() - began
        details = [client.task(task.id) for task in done]
        if failed := [task.name for task in details if task.state != "completed"]:
            raise SystemExit(f"{len(failed)} tasks did not complete, the first is {failed[0]}")
        entries, names = read_diary(site.journal), manager_keys(site.pool, details)
        delays = reporting_delays(watch.told, details, entries)
        longest = max(look.ended - look.began for look in watch.looks)
        faults = compared(our_book(details), managers_book(site.pool, names), entries, _NODE)
        found, differences = unexplained(watch.looks, names, entries, _NODE, max(delays))
        faults += found + overdrawn(entries, {task.name: task.licences for task in details}, _LICENCES)
    together = max(
        sum(one.host == each.host and one.began <= each.began < one.ended for one in entries) for each in entries
    )
    print(f"{connector}: {len(details)} tasks of {len(by_user)} users on {nodes} nodes in {seconds:.0f} s")
    print(f"  {len(entries)} processes, up to {together} on one host; hosts with more than they have: ", end="")
    print(len(overfilled(entries, _NODE)))
    print(f"  reporting delay: median {median(delays):.2f} s, longest {max(delays):.2f} s ({len(delays)} reports)")
    ages = sorted(each.age for each in differences) or [0.0]
    print(f"  {len(watch.looks)} looks at the books, the longest {longest:.2f} s")
    print(f"  {len(differences)} differences, median {median(ages):.2f} s, the oldest {ages[-1]:.2f} s")
    print(f"  {len(faults)} faults")
    if faults:
        raise SystemExit("\n".join(faults[:20]))


def _request(journal: Path, script: Path, number: int, job: WorkloadJob) -> TaskRequest:
    """Return a job as a task: every fifth has its cores chosen, every fourth holds licences."""
    seconds = min(job.seconds / 10, _LONGEST)
    words = ("/bin/sh", str(script), str(journal), job.name)
    licences = {"matlab": 1 + number % 2} if number % 8 == 0 else {"ansys": 2} if number % 8 == 4 else {}
    if number % 5 == 0 and job.hosts == 1:
        times = " ".join(f"{cores}) s={seconds * part:.3f};;" for cores, part in _CHOICES.items())
        line = f'case $COSCHED_CORES in {times} esac; exec /bin/sh "$1" "$2" "$3" $s 0 0'
        shapes = tuple(ShapeFigure(cores=cores, seconds=seconds * part) for cores, part in _CHOICES.items())
        command = ("/bin/sh", "-c", line, "sh", *words[1:])
        return TaskRequest(command=command, name=job.name, shapes=shapes, licences=licences)
    profile = (*([None] * (job.hosts - 1)), seconds)
    command = (*words, f"{seconds:.3f}", str(job.memory), str(job.gpus))
    return TaskRequest(
        command=command,
        name=job.name,
        profile=profile,
        cores=job.cores,
        memory=job.memory,
        gpus=job.gpus,
        licences=licences,
    )
