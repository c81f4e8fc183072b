"""Jobs share a slot: each on processors and GPUs of its own, and with no more memory than it asked for."""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from cosched.connector import HostShare, JobState, Launch
from cosched.errors import UserError
from cosched_local import LocalConnector
from cosched_local.parts import SlotParts, parts_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.connector.contract import Bench

pytestmark = pytest.mark.daemon


_WAITS = "while not os.path.exists(sys.argv[1]): time.sleep(0.05)"


@pytest.fixture
def shared(bench: Bench, tmp_path: Path) -> Iterator[LocalConnector]:
    del bench
    connector = LocalConnector({"hosts": 1, "spool": str(tmp_path / "shared"), "cores": 4, "memory": "1G", "gpus": 2})
    yield connector
    connector.close()


def a_launch(program: str, *arguments: str, **share: int) -> Launch:
    attempt = str(uuid.uuid4())  # processes are known by it: two tests with the same would end each other's
    command = (sys.executable, "-c", f"import os, sys, time\n{program}", *arguments)
    return Launch(attempt, "1", "t", command, ("host01",), shared=True, **share)  # type: ignore[arg-type]


def until(connector: LocalConnector, launch: Launch, *states: JobState) -> str:
    give_up = time.monotonic() + 60
    while (report := connector.status([launch.attempt])[launch.attempt]).state not in states:
        assert time.monotonic() < give_up, report
        connector.events(0.1)
    return report.reason


def test_slots_have_processors_and_gpus_of_their_own_as_far_as_there_are() -> None:
    there = sorted(os.sched_getaffinity(0))
    slots = SlotParts(["a", "b"], HostShare(0, 1, 2))
    first, second = (Launch(str(n), "1", "t", ("x",), ("b",), shared=True, cores=1, gpus=1) for n in (1, 2))
    taken = slots.free("b", first, [])
    assert taken == ([there[1 % len(there)]], [2])
    assert slots.free("b", second, [parts_text(first, {"b": taken})]) == ([], [3])
    assert slots.free("a", second, [parts_text(first, {"b": taken})]) == ([there[0]], [0])


def test_jobs_run_beside_each_other_on_parts_of_a_slot(shared: LocalConnector, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    program = f"print(os.environ['CUDA_VISIBLE_DEVICES'], len(os.sched_getaffinity(0)), flush=True)\n{_WAITS}"
    launches = [a_launch(program, str(gate), cores=2, gpus=1) for number in (1, 2, 3)]
    for launch in launches:
        shared.submit(launch)
    for launch in launches[:2]:
        until(shared, launch, JobState.RUNNING)
    assert until(shared, launches[2], JobState.QUEUED) == "waits for host host01, which is busy"
    gate.touch()
    said = []
    for launch in launches:
        until(shared, launch, JobState.COMPLETED)
        output = shared.output(launch.attempt, "out", 0, 0, 100)
        assert output is not None
        said.append(output.data.decode().split())
    assert [words[0] for words in said[:2]] == ["0", "1"]
    assert {words[1] for words in said} == {str(min(2, len(os.sched_getaffinity(0))))}


def test_a_job_that_takes_more_memory_than_it_asked_for_is_ended_and_says_so(
    shared: LocalConnector, tmp_path: Path
) -> None:
    launch = a_launch(f"block = b'x' * (300 << 20)\n{_WAITS}", str(tmp_path / "never"), cores=1, memory=100)
    shared.submit(launch)
    reason = until(shared, launch, JobState.FAILED)
    assert re.fullmatch(r"it took [1-9]\d\d MiB of memory and had asked for 100 MiB: ask for more", reason)
    assert shared.status([launch.attempt])[launch.attempt].exit_code == 137


def test_memory_that_processes_share_counts_once(shared: LocalConnector) -> None:
    forks = "for _ in range(3):\n    os.fork() or (time.sleep(1.5), os._exit(0))\nwhile True:\n    os.wait()"
    program = f"block = b'x' * (60 << 20)\ntry:\n    exec({forks!r})\nexcept ChildProcessError:\n    print('all ended')"
    launch = a_launch(program, cores=1, memory=100)  # each of the four processes has 60 MiB resident, and more
    shared.submit(launch)
    assert until(shared, launch, JobState.COMPLETED, JobState.FAILED) == ""
    assert shared.status([launch.attempt])[launch.attempt].exit_code == 0


def test_more_than_a_slot_has_is_refused(shared: LocalConnector) -> None:
    with pytest.raises(UserError, match="takes 5 cores, 0 MiB and 0 GPUs of each slot, which has 4, 1024 and 2"):
        shared.submit(a_launch("", cores=5))
