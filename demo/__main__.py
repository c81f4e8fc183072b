"""`make demo`: tasks with deadlines from models through the search onto real hosts, and what came of it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from cosched.simulation.kernels import draw_kernel_tasks
from demo import real, report, tunable
from demo.live import kernel_requests, run, wide_console
from demo.site import Site

__all__ = ["main"]

_OUTPUT = Path("demo-output")


def main() -> None:
    """Run the demonstration; exits with 1 where a task did not complete."""
    options = _options()
    console = wide_console()
    if options.real:
        real.main(options.connector, options.tasks or real.TASKS, options.scale, options.seed, console)
        return
    if options.tunable:
        tunable.main(options.connector, options.tasks or tunable.TASKS, options.scale, options.seed, console)
        return
    options.tasks = options.tasks or 30
    orders = draw_kernel_tasks(options.tasks, options.seed, scale=options.scale)
    console.print(
        f"{options.tasks} tasks of the seven Warwick kernels on 16 hosts, {options.connector} connector. "
        f"Times are scaled: one published second takes {options.scale:g} s."
    )
    with (
        Site(options.connector, scale=options.scale, noise=options.noise, seed=options.seed) as site,
        site.client() as client,
    ):
        site.settle()
        began, tasks = run(client, partial(kernel_requests, orders), console)
    outcome = report.measure(tasks, began)
    profiles = report.kernel_profiles(orders, options.scale)
    ends = report.baselines(profiles, options.seed)
    makespans = {"cosched": outcome.makespan, **{policy: max(own) for policy, own in ends.items()}}
    bound = report.bound(profiles)
    console.print(report.table(tasks, began))
    console.print(report.comparison(makespans, bound))
    console.print(report.sentence(outcome, len(tasks)))
    _OUTPUT.mkdir(exist_ok=True)
    picture = _OUTPUT / f"gantt-{options.connector}.svg"
    picture.write_text(report.picture(tasks, began, options.connector))
    figures = _OUTPUT / f"figures-{options.connector}.json"
    figures.write_text(json.dumps({**asdict(outcome), "bound": bound, "makespans": makespans}, indent=2))
    console.print(f"picture: {picture}, figures: {figures}")
    failed = [task.id for task in tasks if task.state != "completed"]
    if failed:
        raise SystemExit(f"tasks that did not complete: {', '.join(failed)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--connector", choices=("local", "simulated", "condor", "slurm"), default="local")
    parser.add_argument("--real", action="store_true", help="programs that compute, with models made of their runs")
    parser.add_argument("--tunable", action="store_true", help="an application with one way and with two")
    parser.add_argument("--tasks", type=int, default=0, help="how many; default: 30, of --real 24, of --tunable 14")
    parser.add_argument("--scale", type=float, default=1.0, help="seconds that one published second takes")
    parser.add_argument("--noise", type=float, default=0.05, help="sigma of the factor between model and run")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
