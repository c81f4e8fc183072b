"""Table 1 of the Titan paper on real hosts: plain first come, first served in three ways, and cosched.

    python -m benchmarks.titan_table_1 [--connector condor] [--scale 1.0] [--seed 1]

Every row is a real run of the same 30 tasks through a daemon; the rows differ in the daemon's policy alone. "hand-over"
is the share of the hosts' time between the end of one job and the start of the next on the same host; "of it waiting"
is the part that the schedule itself leaves idle: other hosts of the next job were still at work, or it had to wait for
the job ahead. Tables and a chart of each row are in demo-output/.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.table import Table

from cosched.scheduling.policies import USER_COUNT_POLICIES
from cosched.simulation.kernels import draw_kernel_tasks
from demo import report
from demo.live import kernel_requests, run, wide_console
from demo.site import Site

# Policy → (makespan in minutes, idle share) as published (Titan paper, Table 1).
_PAPER = {
    "fcfs-arbitrary": (70.08, 0.61),
    "fcfs-maximum": (69.10, 0.28),
    "fcfs-calculated": (38.05, 0.14),
    "genetic": (35.19, 0.21),
}


def main() -> None:
    """Run all rows and print them beside the paper's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.titan_table_1", description=__doc__)
    parser.add_argument("--connector", choices=("local", "condor"), default="condor")
    parser.add_argument("--scale", type=float, default=1.0, help="seconds that one published second takes")
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    console = wide_console()
    orders = draw_kernel_tasks(30, options.seed, scale=options.scale)
    rows: dict[str, report.Outcome] = {}
    output = Path("demo-output")
    output.mkdir(exist_ok=True)
    for policy in (*USER_COUNT_POLICIES, "genetic"):
        settings = {"planning": {"policy": policy, "seed": options.seed}}
        with (
            Site(
                options.connector, scale=options.scale, noise=options.noise, seed=options.seed, settings=settings
            ) as site,
            site.client() as client,
        ):
            console.print(f"{policy}:")
            site.settle()
            began, tasks = run(client, partial(kernel_requests, orders), console)
            rows[policy] = report.measure(tasks, began, in_order=policy in USER_COUNT_POLICIES)
            picture = report.picture(tasks, began, options.connector)
            (output / f"titan-table-1-{options.connector}-{policy}.svg").write_text(picture)
    console.print(_table(rows, options))
    document = {
        "options": vars(options),
        "bound": report.bound(report.kernel_profiles(orders, options.scale)),
        "rows": {policy: asdict(outcome) for policy, outcome in rows.items()},
    }
    (output / f"titan-table-1-{options.connector}.json").write_text(json.dumps(document, indent=2))


def _table(rows: dict[str, report.Outcome], options: argparse.Namespace) -> Table:
    table = Table(title=f"30 tasks, 16 hosts, {options.connector}, one published second = {options.scale:g} s")
    for heading in (
        "policy",
        "makespan s",
        "÷ cosched",
        "idle",
        "on time",
        "hand-over",
        "of it waiting",
        "paper: min",
        "÷ Titan",
        "idle",
    ):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for policy, row in rows.items():
        minutes, idle = _PAPER[policy]
        table.add_row(
            policy,
            f"{row.makespan:.1f}",
            f"{row.makespan / rows['genetic'].makespan:.2f}",
            f"{row.idle:.0%}",
            f"{row.on_time}/30",
            f"{row.handover:.1%}",
            f"{row.waiting:.1%}",
            f"{minutes:.2f}",
            f"{minutes / _PAPER['genetic'][0]:.2f}",
            f"{idle:.0%}",
        )
    return table


if __name__ == "__main__":
    main()
