"""How many requests the API answers: durable submissions and reads, over real HTTP, with many tasks in the database.

    python -m benchmarks.portal [--tasks 10000] [--seconds 10] [--runs 1] [--keep FOLDER]

The daemon is a process of its own with all hosts busy, so that every task that is submitted waits and is planned. First
as many requests as it can answer, then half of what is promised, one after the other however slow the answers are.
Beside the rates stands the processor time that a request costs the daemon: it says what the machine could do if nothing
else ran on it. What makes the requests runs on the same processors, and so does the search: their shares are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from benchmarks.daemon import processor_time
from benchmarks.figures import Figures, add_keep_option
from benchmarks.load import Measured, offer, request
from cosched.api.documents import TaskRequest, TokenRequest
from cosched.coscheduler.changes import Changes
from cosched.coscheduler.task import Task, TaskSpec, TaskState, TaskStatus
from cosched.prediction.profile import PredictionSource, Profile
from cosched.simulation.kernels import HOSTS
from cosched.store import Store
from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

_SUBMISSIONS, _READS = 300.0, 500.0  # promised a second
_CONNECTIONS = 16


def main() -> None:
    """Measure, print, and keep the figures where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.portal", description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000, help="ended tasks in the database beforehand")
    parser.add_argument("--seconds", type=float, default=10.0, help="of promised load for each measurement")
    parser.add_argument("--runs", type=int, default=1, help="with a daemon and a database each")
    add_keep_option(parser)
    options = parser.parse_args()

    def measure(figures: Figures) -> None:
        figures.section("portal", f"{options.tasks} tasks in the database, {_CONNECTIONS} connections")
        for run in range(1, options.runs + 1):
            for name, values in _measure(options.tasks, options.seconds).items():
                figures.values(f"{name}, run {run}", values)

    Figures(options.keep).measure("portal", measure)


def _measure(tasks: int, seconds: float) -> dict[str, dict[str, float]]:
    with Site("local", scale=1.0) as site:
        site.stop()
        _fill(f"sqlite:///{site.folder}/state/cosched.db", tasks)
        site.start()
        with site.client() as client:
            client.submit(TaskRequest(command=("/bin/sleep", "3600"), profile=(None,) * (HOSTS - 1) + (3600.0,)))
            token = client.create_token(TokenRequest(scopes=("read", "submit"))).token
            port = int(client.login_link().url.split("/")[2].rpartition(":")[2])
        load = _Load(site.pid, port)
        submissions = [_submission(token, number) for number in range(int(_SUBMISSIONS * seconds * 1.5))]
        reads = [_read(token, number, tasks) for number in range(int(_READS * seconds * 1.5))]
        cut = len(submissions) * 2 // 3
        rows = {"submissions": load.measure(submissions[:cut]), "reads": load.measure(reads[: len(reads) * 2 // 3])}
        rows["half the submissions"] = load.measure(submissions[cut:], _SUBMISSIONS / 2)
        rows["half the reads"] = load.measure(reads[len(reads) * 2 // 3 :], _READS / 2)
        with site.client() as client:
            assert client.status().tasks["queued"] >= len(submissions)
    return rows


class _Load:
    def __init__(self, daemon: int, port: int) -> None:
        self._daemon = daemon
        self._port = port

    def measure(self, requests: Sequence[bytes], rate: float = 0.0) -> dict[str, float]:
        """Send requests and return what came of them."""
        before, ours = processor_time(self._daemon), time.process_time()
        measured = offer(self._port, requests, _CONNECTIONS, rate)
        assert set(measured.statuses) <= {200, 201}, measured.statuses
        after, ours = processor_time(self._daemon), time.process_time() - ours
        took = {name: after[name] - before[name] for name in after}
        return _figures(measured, took["daemon"]) | {
            "processors that this program took": ours / measured.seconds,
            "processors that the search took": took["search"] / measured.seconds,
            "load of the machine (uptime)": os.getloadavg()[0],
        }


def _figures(measured: Measured, processor: float) -> dict[str, float]:
    hundredths = quantiles(measured.took, n=100, method="inclusive")
    return {
        "requests": float(len(measured.took)),
        "requests a second": measured.rate,
        "processor ms of the daemon a request": 1e3 * processor / len(measured.took),
        "ms, median": 1e3 * hundredths[49],
        "ms, 99 %": 1e3 * hundredths[98],
    }


def _fill(url: str, count: int) -> None:
    """Write tasks that ended some time ago."""
    store = Store(url)
    last, now = store.last_number(), time.time()
    profile = Profile(tuple(40.0 / hosts for hosts in range(1, 17)), PredictionSource.USER)
    status = TaskStatus(
        TaskState.COMPLETED,
        dispatched=now - 9e4,
        started=now - 9e4,
        finished=now - 8e4,
        predicted=40.0,
        actual=41.0,
        exit_code=0,
        attempts=1,
        hosts=("node01", "node02"),
    )
    for begin in range(0, count, 1000):
        tasks = (
            Task(
                str(number),
                number,
                now - 1e5,
                TaskSpec(f"night run {number}", "sweep3d", ("/usr/bin/sweep3d", str(number)), parameters={"nx": 50.0}),
                "ann",
                profile=profile,
                status=status,
            )
            for number in range(last + 1 + begin, last + 1 + min(begin + 1000, count))
        )
        store.commit(Changes({task.id: task for task in tasks}))
    store.close()


def _submission(token: str, number: int) -> bytes:
    body = {
        "command": ["/bin/sleep", "60"],
        "hosts": "1-4",
        "profile": [60, 35, 25, 20],
        "name": f"load {number}",
        "deadline": time.time() + 1e6 + 7919 * number % 10_000,
    }
    return request("POST", "/api/v1/tasks", token, json.dumps(body).encode(), Idempotency_Key=f"load-{number}")


def _read(token: str, number: int, tasks: int) -> bytes:
    """Four in five look at one task, the fifth at a page of the list."""
    path = "/api/v1/tasks?limit=20" if number % 5 == 0 else f"/api/v1/tasks/{1 + 7919 * number % tasks}"
    return request("GET", path, token)


if __name__ == "__main__":
    main()
