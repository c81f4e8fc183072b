"""Three real daemons on loopback forward real tasks over mutual TLS; two are killed in the middle of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from cosched.cli.main import run
from demo.grid import NAMES, forwarded, grid, submit, where
from tests import history
from tests.testbed.forked.nursery import QuickSite
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cosched.api.documents import TaskDetail
    from demo.site import Site

pytestmark = [pytest.mark.daemon, pytest.mark.slow]

SCALE = 0.2  # tasks of seconds: who is asked for a place has a moment to answer, also on a busy machine


def check(sites: Sequence[Site], tasks: Sequence[TaskDetail], count: int) -> None:
    """Every task ran to its end once, in the domain that it is said to have ended in; the journals know no daemon."""
    assert [task.state for task in tasks] == ["completed"] * count
    journals = {name: history.read(site.journal) for name, site in zip(NAMES, sites, strict=True)}
    assert [
        fault for lines in journals.values() for fault in history.faults(lines, {line.task for line in lines})
    ] == []
    ran = {name: len({line.task for line in lines}) for name, lines in journals.items()}
    assert sum(ran.values()) == count
    ended = [where(task, NAMES[0]) for task in tasks]
    assert {name: ended.count(name) for name in NAMES} == ran
    assert set(ended) != {NAMES[0]}


@contextmanager
def occupied(site: Site) -> Iterator[str]:
    """Have one task run on all hosts of a site, so that others cannot begin there however slow everything is."""
    with site.client() as client:
        task = client.submit(TaskRequest(command=("/bin/sleep", "2000"), profile=(*[None] * 15, 2000.0))).id
        until(lambda: client.task(task).state == "running")
    yield task
    with site.client() as client:
        client.cancel(task)


def await_one_elsewhere(site: Site) -> None:
    """Wait until one of a site's tasks runs in another domain, or has run there."""
    with site.client() as client:
        until(
            lambda: any(task.peer and task.state in ("running", "completed") for task in client.tasks(limit=100).tasks)
        )


def test_tasks_are_forwarded_and_daemons_killed_in_the_middle_lose_none() -> None:
    with grid(("local",) * 3, scale=SCALE, site=QuickSite) as sites:
        with occupied(sites[0]) as blocker:
            submit(sites[0], 14, SCALE, slack=10.0)
            await_one_elsewhere(sites[0])
            for site in (sites[1], sites[0]):
                site.kill()
                site.start()
        tasks = [task for task in forwarded(sites, 200.0) if task.id != blocker]
        check(sites, tasks, 14)
        went = next(task for task in tasks if task.peer)
        assert "alpha would end it" in went.handovers[-1].why
        assert went.handovers[-1].state == "ended"
        assert any(line.kind == "forwarded" for line in went.log)
        with sites[0].client() as client:
            written = client.output(went.id, "out")
        assert written is not None
        assert written.data.decode().startswith(f"{went.application} rank 0 of {went.count}: ")


@pytest.mark.pool
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("slurm-sites")
def test_a_users_own_batch_script_is_run_by_the_other_domains_slurm(tmp_path: Path) -> None:
    script = tmp_path / "own.sh"
    script.write_text("#!/bin/sh\n#SBATCH --comment=theirs\necho ran on $SLURM_JOB_NODELIST of $COSCHED_HOSTS\n")
    with grid(("slurm", "slurm"), scale=0.5, lease=60.0, commands=True, site=QuickSite) as sites:
        with occupied(sites[0]), sites[0].client() as client:
            options = ["--profile", "5", "--deadline", "now+1m", "--server", sites[0].server]
            assert run(["task", "submit", "--file", str(script), *options]) == 0
            own = max(client.tasks(limit=10).tasks, key=lambda task: int(task.id))
            (done,) = client.wait([own.id], 240.0)
            written = client.output(own.id, "out")
        assert (done.state, done.peer) == ("completed", "beta")
        assert written is not None
        assert written.data.decode() == f"ran on {done.hosts[0]} of {done.hosts[0]}\n"


@pytest.mark.pool
@pytest.mark.slow(60)
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("pools")
def test_three_kinds_of_manager_forward_to_one_another() -> None:
    with grid(("local", "condor", "slurm"), scale=0.5, lease=30.0, site=QuickSite) as sites:
        for site in sites:
            site.settle()
        with occupied(sites[0]) as blocker:
            submit(sites[0], 24, 0.5, slack=8.0)
            await_one_elsewhere(sites[0])
        check(sites, [task for task in forwarded(sites, 300.0) if task.id != blocker], 24)
