"""Three real daemons on loopback forward real tasks over mutual TLS; two are killed in the middle of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from demo.grid import NAMES, forwarded, grid, submit, where
from tests import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.portal.documents import TaskDetail
    from demo.site import Site

SCALE = 0.1


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
    assert len(set(ended)) > 1


@pytest.mark.timeout(120)
def test_tasks_are_forwarded_and_daemons_killed_in_the_middle_lose_none() -> None:
    with grid(("local",) * 3, scale=SCALE) as sites:
        submit(sites[0], 14, SCALE, slack=0.8)
        time.sleep(1.5)
        for site in (sites[1], sites[0]):
            site.kill()
            site.start()
        tasks = forwarded(sites, 100.0)
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
@pytest.mark.timeout(240)
@pytest.mark.xdist_group("pools")
def test_three_kinds_of_manager_forward_to_one_another() -> None:
    with grid(("local", "condor", "slurm"), scale=0.5, lease=30.0) as sites:
        for site in sites:
            site.settle()
        submit(sites[0], 24, 0.5, slack=1.0)  # real managers take seconds for each job: less would not be worth it
        check(sites, forwarded(sites, 150.0), 24)
