"""From the end of a job to the start of the next on the same host: cosched's own gap beside the manager's floor.

    python -m benchmarks.handover --connector condor|slurm [--jobs 30] [--json FILE]

The floor is a chain of the manager's own: jobs that all wait in its queue, pinned to one host, one after the other.
cosched's gap is measured the same way, on a host for which its tasks queue with cosched and leave one at a time. Starts
and ends are those that the jobs write themselves. The jobs of both chains are as long as one another and uneven, half a
second to one and a half: managers look at their queues in a rhythm, and jobs of one length would keep time with it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import uuid
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from cosched.api.documents import TaskRequest
from cosched.connector import JobState, Launch
from cosched.connector.registry import load_connector
from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCRIPT = 'echo "start $(date +%s.%N)" >> "$0"; sleep "$1"; echo "end $(date +%s.%N)" >> "$0"'
_PATIENCE = 300.0


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.handover", description=__doc__)
    parser.add_argument("--connector", choices=("condor", "slurm"), default="condor")
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="setting of the connector")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    more = {key: json.loads(value) for key, _, value in (word.partition("=") for word in options.set)}
    rows = measure(options.connector, options.jobs, more)
    table = Table(title=f"{options.connector}: seconds from an end to the next start, {options.jobs} jobs")
    for heading in ("chain", "mean", "median", "90 %", "longest"):
        table.add_column(heading)
    for name, row in rows.items():
        table.add_row(name, *(f"{row[key]:.3f}" for key in ("mean", "median", "90 %", "longest")))
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


def measure(connector: str, jobs: int, more: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the gaps of both chains."""
    with Site(connector, scale=1.0, settings={f"connector.{connector}": more}) as site:
        site.settle()
        pool: Any = site.pool
        rows = {"the manager's own": _gaps(_floor(connector, pool, jobs))}
        rows["cosched's"] = _gaps(_ours(site, pool, jobs))
    return rows


def _lengths(jobs: int) -> list[str]:
    """Return how long each job of a chain sleeps, seconds."""
    generator = random.Random(1)
    return [f"{generator.uniform(0.5, 1.5):.3f}" for _ in range(jobs)]


def _floor(connector: str, pool: Any, jobs: int) -> list[str]:
    """Let the manager work through a queue of its own."""
    settings = {**pool.settings} if connector == "slurm" else {"config": str(pool.config), "spool": str(pool.spool)}
    manager = load_connector(connector, settings)
    file = _journal(pool)
    launches = [
        Launch(str(uuid.uuid4()), "floor", "floor", ("/bin/sh", "-c", _SCRIPT, str(file), length), ("node01",))
        for length in _lengths(jobs)
    ]
    try:
        for launch in launches:
            manager.submit(launch)
        until = time.monotonic() + _PATIENCE
        last = [launch.attempt for launch in launches]
        while any(report.state is not JobState.COMPLETED for report in manager.status(last).values()):
            if time.monotonic() > until:
                raise SystemExit(f"the manager's own chain did not end within {_PATIENCE:.0f} s")
            time.sleep(2.0)
    finally:
        manager.close()
    return file.read_text().splitlines()


def _ours(site: Site, pool: Any, jobs: int) -> list[str]:
    """Let cosched hand its tasks on, one at a time: all but one host are taken by a task that outlasts them."""
    file = _journal(pool)
    with site.client() as client:
        rest = len(pool.hosts) - 1
        blocker = client.submit(TaskRequest(command=("/bin/sleep", "600"), profile=(*[None] * (rest - 1), 600.0)))
        while client.task(blocker.id).state != "running":
            time.sleep(0.2)
        tasks = client.submit_all(
            [
                TaskRequest(command=("/bin/sh", "-c", _SCRIPT, str(file), length), profile=(1.0,))
                for length in _lengths(jobs)
            ]
        )
        client.wait([task.id for task in tasks], _PATIENCE)
        client.cancel(blocker.id)
    return file.read_text().splitlines()


def _journal(pool: Any) -> Path:
    file = Path(pool.spool) / f"journal-{uuid.uuid4().hex}"
    file.touch()
    file.chmod(0o666)  # the pool's own user writes it
    return file


def _gaps(lines: Sequence[str]) -> dict[str, float]:
    times = sorted((float(moment), kind) for kind, moment in (line.split() for line in lines))
    kinds = [kind for _, kind in times]
    if kinds != ["start", "end"] * (len(kinds) // 2):
        raise SystemExit("two jobs of the chain were at work at the same time")
    gaps = [times[place + 1][0] - times[place][0] for place in range(1, len(times) - 1, 2)]
    return {"mean": fmean(gaps), "median": median(gaps), "90 %": quantiles(gaps, n=10)[8], "longest": max(gaps)}


if __name__ == "__main__":
    main()
