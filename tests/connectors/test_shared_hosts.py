"""A daemon whose tasks share the nodes of a real manager: no node ever has more than fits, by all three books.

These are cosched's own, the manager's, and the diaries of the jobs. Some of the tasks hold licences of the domain.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.api.documents import ShapeFigure, TaskRequest, TokenRequest
from cosched.client import Client
from tests.testbed.diaries import DIARY, read_diary
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.node_size import NodeSize
from tests.testbed.software.debian import PackageError
from tests.testbed.three_books import Watch, compared, manager_keys, managers_book, our_book, overdrawn, unexplained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = [
    pytest.mark.pool,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
]

_NODE = NodeSize()
_GIB = 1024
_PATIENCE = 300.0
_DELAY = 60.0  # seconds by which a book may be behind here, where others keep the machine busy
_LICENCES = {"matlab": 2, "ansys": 5}  # of the domain
_HOLDS = {"matlab": (0, 0, 1), "ansys": (0, 2, 0, 3)}  # what one task after another holds
# Users; cores, memory, GPUs on each host; run times on 1, 2 … hosts.
_Job = tuple[int, int, int, tuple[float, ...]]
_JOBS: Mapping[str, Sequence[_Job]] = {
    "ann": [(cores, 4 * _GIB, 0, (1.0,)) for cores in (48, 16, 32, 24, 64)],  # rigid
    "bob": [(8, 90 * _GIB, 0, (1.5,))] * 3 + [(16, 20 * _GIB, gpus, (1.0,)) for gpus in (3, 2, 1)],
    "eve": [(20, 16 * _GIB, 0, (2.0, 1.2))] * 2,  # on one host or two
}
_CHOICES = {8: 2.0, 24: 1.2, 48: 0.8}  # cores of one host, of which cosched chooses, and the seconds with each


@pytest.mark.parametrize(
    "connector",
    [
        pytest.param("condor", marks=pytest.mark.xdist_group("condor-sites")),
        pytest.param("slurm", marks=pytest.mark.xdist_group("slurm-sites")),
    ],
)
def test_tasks_of_three_users_fill_nodes_and_never_overfill_one(connector: str) -> None:
    settings: dict[str, dict[str, Any]] = {"planning": {"share_hosts": True}, "licences": _LICENCES}
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=1.0, hosts=2, settings=settings, node=_NODE))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        script = site.folder / "diary.sh"
        script.write_text(DIARY)
        client = stack.enter_context(site.client())
        ids = []
        for user, jobs in _JOBS.items():
            token = client.create_token(TokenRequest(user=user)).token
            with Client(site.server, token=token) as own:
                requests = [
                    replace(_request(site.journal, script, f"{user}{number}", *job), licences=_licences(number))
                    for number, job in enumerate(jobs)
                ]
                ids += [task.id for task in own.submit_all(requests)]
        token = client.create_token(TokenRequest(user="kim")).token
        with Client(site.server, token=token) as own:
            chosen = own.submit_all([_choosing(site.journal, script, f"kim{number}") for number in range(4)])
        ids += [task.id for task in chosen]
        assert site.pool is not None
        with Watch(client, site.pool) as watch:
            done = client.wait(ids, _PATIENCE)
        assert {task.state for task in done} == {"completed"}, [(task.id, task.state, task.reason) for task in done]
        assert {task.owner for task in done} == {*_JOBS, "kim"}
        entries = read_diary(site.journal)
        tasks = [client.task(task.id) for task in done]
        names = manager_keys(site.pool, tasks)
        assert "\n".join(compared(our_book(tasks), managers_book(site.pool, names), entries, _NODE)) == ""
        assert "\n".join(unexplained(watch.looks, names, entries, _NODE, _DELAY)[0]) == ""
        assert overdrawn(entries, {task.name: task.licences for task in tasks}, _LICENCES) == []
        assert {name for task in tasks for name in task.licences} == _LICENCES.keys()
        asked = {f"{user}{number}": job[0] for user, jobs in _JOBS.items() for number, job in enumerate(jobs)}
        asked |= {task.name: client.task(task.id).tries[-1].cores for task in chosen}
        assert {asked[task.name] for task in chosen} <= _CHOICES.keys()
        assert {entry.job: entry.cores for entry in entries} == asked  # the manager gives what was planned
        assert all(client.task(task.id).cores == asked[task.name] for task in chosen)
        assert any(
            len({e.job for e in entries if e.host == one.host and e.began <= one.began < e.ended}) > 2
            for one in entries
        )


def _licences(number: int) -> dict[str, int]:
    """Return what a user's task of this number holds of the domain's licences."""
    held = {name: turns[number % len(turns)] for name, turns in _HOLDS.items()}
    return {name: count for name, count in held.items() if count}


def _request(
    journal: Path, script: Path, name: str, cores: int, memory: int, gpus: int, profile: tuple[float, ...]
) -> TaskRequest:
    command = ("/bin/sh", str(script), str(journal), name, str(profile[0]), str(memory), str(gpus))
    return TaskRequest(command=command, name=name, profile=profile, cores=cores, memory=memory, gpus=gpus)


def _choosing(journal: Path, script: Path, name: str) -> TaskRequest:
    """Return a task that takes as long as was said of the cores that it finds it has."""
    times = " ".join(f"{cores}) seconds={seconds};;" for cores, seconds in _CHOICES.items())
    line = f'case $COSCHED_CORES in {times} esac; exec /bin/sh "$1" "$2" "$3" $seconds 0 0'
    figures = tuple(ShapeFigure(cores=cores, seconds=seconds) for cores, seconds in _CHOICES.items())
    return TaskRequest(
        command=("/bin/sh", "-c", line, "sh", str(script), str(journal), name), name=name, shapes=figures
    )
