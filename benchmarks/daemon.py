"""What a daemon with a long queue costs: submissions, memory, answers, idle work.

    python -m benchmarks.daemon [--tasks 1000] [--keep FOLDER]

All hosts are busy, so that every task waits. One daemon gets the tasks one by one, another all in one request; both run
as users run them, with their search beside them.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from benchmarks.figures import Figures, add_keep_option
from cosched.api.documents import TaskRequest
from cosched.simulation.kernels import HOSTS, draw_kernel_tasks
from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.client import Client

_TICK = os.sysconf("SC_CLK_TCK")
_IDLE = 10.0  # seconds of waiting over which processor time is counted
_ASKED = 20  # times that each question is asked


def main() -> None:
    """Measure, print, and keep the figures where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.daemon", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    add_keep_option(parser)
    options = parser.parse_args()
    requests = [
        TaskRequest(application=order.kernel, deadline=time.time() + 1e6 + order.relative_deadline)
        for order in draw_kernel_tasks(options.tasks, options.seed)
    ]
    Figures(options.keep).measure("daemon", partial(_measure_both, requests))


def _measure_both(requests: Sequence[TaskRequest], figures: Figures) -> None:
    figures.section("daemon", f"{len(requests)} waiting tasks, local slots")
    for way, submit in (("one by one", _one_by_one), ("in one list", _in_one_list)):
        figures.values(way, _measure(requests, submit))


def _measure(
    requests: Sequence[TaskRequest], submit: Callable[[Client, Sequence[TaskRequest]], dict[str, float]]
) -> dict[str, float]:
    with Site("local", scale=1.0) as site, site.client() as client:
        _occupy(client)
        figures = submit(client, requests)
        figures |= {
            f"{name} memory MB, {kind}": value / 2**20
            for name, pid in _processes(site.pid).items()
            for kind, value in _memory(pid).items()
        }
        some = client.tasks(["queued"], limit=_ASKED).tasks
        figures |= _answers("plan", [client.plan] * _ASKED)
        figures |= _answers("explain", [partial(client.explain, task.id) for task in some])
        figures |= _answers("list", [lambda: client.tasks(limit=100)] * _ASKED)
        before = processor_time(site.pid)
        time.sleep(_IDLE)
        after = processor_time(site.pid)
        figures |= {f"{name} processor seconds in {_IDLE:g} s of waiting": after[name] - before[name] for name in after}
        assert client.status().tasks["queued"] == len(requests)
    return figures


def _occupy(client: Client) -> None:
    """Have one task run on all hosts for longer than the measurement takes."""
    task = client.submit(TaskRequest(command=("/bin/sleep", "600"), profile=(None,) * (HOSTS - 1) + (600.0,)))
    while client.task(task.id).state != "running":
        time.sleep(0.1)


def _one_by_one(client: Client, requests: Sequence[TaskRequest]) -> dict[str, float]:
    took = []
    began = time.monotonic()
    for request in requests:
        start = time.monotonic()
        client.submit(request)
        took.append(time.monotonic() - start)
    return _rate(len(requests), time.monotonic() - began) | _spread("submission", took)


def _in_one_list(client: Client, requests: Sequence[TaskRequest]) -> dict[str, float]:
    began = time.monotonic()
    client.submit_all(requests)
    return _rate(len(requests), time.monotonic() - began)


def _rate(count: int, seconds: float) -> dict[str, float]:
    return {"seconds to submit": seconds, "submissions a second": count / seconds}


def _answers(name: str, questions: Sequence[Callable[[], Any]]) -> dict[str, float]:
    took = []
    for question in questions:
        start = time.monotonic()
        question()
        took.append(time.monotonic() - start)
    return _spread(name, took)


def _spread(name: str, took: Sequence[float]) -> dict[str, float]:
    hundredths = quantiles(took, n=100, method="inclusive")
    return {f"{name} ms, median": 1e3 * hundredths[49], f"{name} ms, 99 %": 1e3 * hundredths[98]}


def _processes(daemon: int) -> dict[str, int]:
    """Return the daemon's process and its search's."""
    for task in Path(f"/proc/{daemon}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"cosched.daemon.processes.planner" in Path(f"/proc/{child}/cmdline").read_bytes():
                return {"daemon": daemon, "search": int(child)}
    raise SystemExit("the daemon has no search: look at its log")


def _memory(pid: int) -> dict[str, float]:
    """Return resident bytes of a process: all of it (RSS), and with a share of what it has in common (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    values = {words[0]: float(words[1]) * 1024 for words in map(str.split, lines[1:])}
    return {"RSS": values["Rss:"], "PSS": values["Pss:"]}


def processor_time(daemon: int) -> dict[str, float]:
    """Return the processor seconds that a daemon and its search have taken."""
    seconds = {}
    for name, pid in _processes(daemon).items():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        seconds[name] = (int(fields[11]) + int(fields[12])) / _TICK
    return seconds


if __name__ == "__main__":
    main()
