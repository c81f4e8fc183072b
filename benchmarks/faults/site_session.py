"""A daemon that is killed again and again beside a resource manager: is anything lost, does anything run twice?

    python -m benchmarks.kills --connector local|simulated|condor|slurm [--kills 500] [--minutes 60] [--seed 1]
                               [--set KEY=JSON …]

The daemon gets SIGKILL at random moments, while it starts as well as while it works, and tasks keep coming. At the end
a checker that knows nothing of cosched reads the journal that the tasks themselves have kept, or the history of a
simulated pool, whose weather can be bad as well (`--set busy=0.1 --set lost=0.2 --set repeat=0.5`).
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.api.documents import TaskRequest
from cosched.errors import SystemFault
from cosched.simulation.kernels import KERNELS, kernel_profile
from tests.history import faults, read, read_pool
from tests.testbed.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.api.documents import TaskView
    from cosched.client import Client
    from demo.site import Site

_SCALE = 0.05
_SETTINGS = {"dispatch": {"grace": "1s", "retry": "200ms"}}
_KILLED_AT_START = 0.3  # share of the starts that are cut off
_LONGEST_LIFE = 1.5  # seconds until the next kill
_PATIENCE = 600.0
_TRY_AGAIN = 0.1  # seconds between two submissions under one key
_PAUSE = (0.1, 0.9)  # seconds between two requests
_FROM_CATALOGUE, _WITH_FIGURES = 0.15, 0.7  # shares of the kinds of requests, added up


class _Submitter(threading.Thread):
    """Keeps some tasks waiting, each request submitted under a key until it is answered.

    Attributes:
        answered: the identifiers of the tasks that each key was answered with, and their names.
    """

    def __init__(self, site: Site, seed: int) -> None:
        super().__init__(name="submitter", daemon=True)
        self.answered: dict[str, tuple[list[str], list[str]]] = {}
        self._site = site
        self._random = random.Random(seed)
        self._ended = threading.Event()

    def run(self) -> None:
        """Submit until `stop`."""
        while not self._ended.is_set():
            key = f"key-{len(self.answered)}"
            requests = self._draw(key)
            while key not in self.answered:
                with suppress(SystemFault), self._site.client() as client:
                    tasks = client.submit_all(requests, key)
                    self.answered[key] = [task.id for task in tasks], [request.name for request in requests]
                time.sleep(_TRY_AGAIN)
            self._ended.wait(self._random.uniform(*_PAUSE))

    def stop(self) -> None:
        """End after the submission under way."""
        self._ended.set()
        self.join()

    def _draw(self, key: str) -> list[TaskRequest]:
        """Return one task of the catalogue, with figures of its own or without any; or several of these at once."""
        kernel, kind = self._random.choice(KERNELS), self._random.random()
        if kind < _FROM_CATALOGUE:
            return [TaskRequest(application=kernel, hosts="1-4", name=key)]
        command = tuple(self._site.command(kernel, str(_SCALE)))
        if kind < _WITH_FIGURES:
            figures = tuple(kernel_profile(kernel, _SCALE).on(count) for count in range(1, 5))
            return [TaskRequest(command=command, profile=figures, name=key)]
        several = self._random.randint(1, 8)
        hosts = str(self._random.randint(1, 2))
        return [TaskRequest(command=command, hosts=hosts, name=f"{key}.{place}") for place in range(several)]


def main() -> None:
    """Kill, check, print, and write the figures where asked; exit code 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--connector", choices=("local", "simulated", "condor", "slurm"), default="local")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop killing after this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="setting of the connector")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    began = time.monotonic()
    more = {key: json.loads(value) for key, _, value in (word.partition("=") for word in options.set)}
    kills, tasks, wrong = run(options.connector, options.kills, 60 * options.minutes, options.seed, more)
    figures = {
        "connector": options.connector,
        "kills": kills,
        "seed": options.seed,
        "tasks": tasks,
        "seconds": round(time.monotonic() - began),
        "faults": list(wrong),
    }
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    raise SystemExit(1 if wrong else 0)


def run(
    connector: str, kills: int, seconds: float, seed: int, more: Mapping[str, Any]
) -> tuple[int, int, Sequence[str]]:
    """Return how often the daemon was killed, how many tasks there were, and everything that is wrong."""
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    killed = 0
    with QuickSite(connector, scale=_SCALE, settings={**_SETTINGS, f"connector.{connector}": more}) as site:
        submitter = _Submitter(site, seed)
        submitter.start()
        while killed < kills and time.monotonic() < until:
            time.sleep(chance.uniform(0.0, _LONGEST_LIFE))
            site.kill()
            killed += 1
            while chance.random() < _KILLED_AT_START:
                killer = threading.Timer(chance.uniform(0.0, _LONGEST_LIFE), site.kill)
                killer.start()
                with suppress(SystemFault):  # killed before it served
                    site.start()
                killer.join()
                site.kill()  # where the timer was quicker than the start
                killed += 1
            site.start()
        submitter.stop()
        with site.client() as client:
            tasks = {task.id: task for task in _all(client)}
            done = client.wait(list(tasks), _PATIENCE)
        wrong = [f"task {task.id} is {task.state}: {task.reason}" for task in done if task.state != "completed"]
        for key, (ids, own) in submitter.answered.items():
            if [tasks[task].name for task in ids] != own:
                wrong.append(f"{key} was answered with tasks {', '.join(ids)}, which are others")
        names = [task.name for task in tasks.values()]
        wrong += [f"{name} was taken in twice" for name in sorted(set(names)) if names.count(name) > 1]
        lines = read_pool(site.history) if connector == "simulated" else read(site.journal)
        return killed, len(tasks), [*wrong, *faults(lines, tasks)]


def _all(client: Client) -> list[TaskView]:
    found: list[TaskView] = []
    while True:
        page = client.tasks(limit=1000, offset=len(found))
        found += page.tasks
        if not page.tasks:
            return found


if __name__ == "__main__":
    main()
