"""Many tasks through a resource manager: how long, and what it was asked.

    python -m benchmarks.throughput --connector condor|slurm|local|simulated [--tasks 1000] [--unplanned] [--json FILE]

The tasks are short, each on one host of 16, and arrive by the thousand. Planned ones leave as hosts get free;
those without figures are handed to the manager in batches. What counts is not their time but what they cost
the manager: calls of its daemons for each task, everything counted, the looks at its hosts among them. A simulated pool
answers at once: there the time beyond that of the tasks is cosched's own.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cosched.api.documents import TaskRequest
from demo.site import Site

_PATIENCE = 3600.0
_AT_ONCE = 1000  # tasks in one request


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--connector", choices=("condor", "slurm", "local", "simulated"), default="condor")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--unplanned", action="store_true", help="tasks without figures, which leave all at once")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    figures = measure(options.connector, options.tasks, planned=not options.unplanned)
    table = Table(title=f"{options.tasks} tasks through {options.connector}")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in figures.items():
        table.add_row(name, f"{value:.2f}")
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


def measure(connector: str, tasks: int, *, planned: bool = True) -> dict[str, float]:
    """Run so many tasks and return what was counted; fails where one of them does not complete."""
    request = TaskRequest(command=("/bin/true",), profile=(0.1,) if planned else None)
    with Site(connector, scale=1.0) as site, site.client() as client:
        site.settle()
        before = client.status().calls
        began = time.monotonic()
        for start in range(0, tasks, _AT_ONCE):
            client.submit_all([request] * min(_AT_ONCE, tasks - start))
        while client.status().tasks.get("completed", 0) < tasks:
            if time.monotonic() > began + _PATIENCE:
                raise SystemExit(f"after {_PATIENCE:.0f} s: {client.status().tasks}")
            time.sleep(0.5)
        elapsed = time.monotonic() - began
        calls = {name: number - before.get(name, 0) for name, number in client.status().calls.items()}
    return {
        "seconds": elapsed,
        "tasks a second": tasks / elapsed,
        "calls a task": sum(calls.values()) / tasks,
        **{f"calls of {name}": float(number) for name, number in sorted(calls.items())},
    }


if __name__ == "__main__":
    main()
