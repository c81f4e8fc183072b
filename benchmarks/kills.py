"""A daemon that is killed again and again beside a real resource manager: is anything lost, does anything run twice?

    python -m benchmarks.kills --connector local|condor|slurm [--kills 500] [--minutes 60] [--seed 1]

The daemon gets SIGKILL at random moments, while it starts as well as while it works, and tasks keep coming. At the end
a checker that knows nothing of cosched reads the journal that the tasks themselves have kept.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.client import Client
from cosched.errors import SystemFault
from cosched.portal.documents import TaskRequest
from cosched.simulation.kernels import KERNELS
from demo.site import Site
from tests.history import faults, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.portal.documents import TaskView

_SCALE = 0.1
_SETTINGS = {"dispatch": {"grace": "1s", "retry": "200ms"}}
_KILLED_AT_START = 0.3  # share of the starts that are cut off
_LONGEST_LIFE = 1.5  # seconds until the next kill
_PATIENCE = 600.0


class _Submitter(threading.Thread):
    """Keeps some tasks waiting, each submitted under a key until it is answered.

    Attributes:
        answered: the identifier that each key was answered with.
    """

    def __init__(self, server: str, seed: int) -> None:
        super().__init__(name="submitter", daemon=True)
        self.answered: dict[str, str] = {}
        self._server = server
        self._random = random.Random(seed)
        self._ended = threading.Event()

    def run(self) -> None:
        """Submit until `stop`."""
        while not self._ended.is_set():
            key = f"key-{len(self.answered)}"
            request = TaskRequest(application=self._random.choice(KERNELS), hosts="1-4", name=key)
            while key not in self.answered:
                with suppress(SystemFault), Client(self._server) as client:
                    self.answered[key] = client.submit(request, key).id
                time.sleep(0.05)
            self._ended.wait(self._random.uniform(0.1, 0.6))

    def stop(self) -> None:
        """End after the submission under way."""
        self._ended.set()
        self.join()


def main() -> None:
    """Kill, check, print, and write the figures where asked; exit code 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--connector", choices=("local", "condor", "slurm"), default="local")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop killing after this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    began = time.monotonic()
    kills, tasks, wrong = run(options.connector, options.kills, 60 * options.minutes, options.seed)
    figures = {"connector": options.connector, "kills": kills, "seed": options.seed, "tasks": tasks,
               "seconds": round(time.monotonic() - began), "faults": list(wrong)}  # fmt: skip
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    raise SystemExit(1 if wrong else 0)


def run(connector: str, kills: int, seconds: float, seed: int) -> tuple[int, int, Sequence[str]]:
    """Return how often the daemon was killed, how many tasks there were, and everything that is wrong."""
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    killed = 0
    with Site(connector, scale=_SCALE, settings=_SETTINGS) as site:
        submitter = _Submitter(site.server, seed)
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
        wrong += [f"{key} was answered with task {task}, which is {tasks[task].name}"
                  for key, task in submitter.answered.items() if tasks[task].name != key]  # fmt: skip
        names = [task.name for task in tasks.values()]
        wrong += [f"{name} was taken in twice" for name in sorted(set(names)) if names.count(name) > 1]
        return killed, len(tasks), [*wrong, *faults(read(site.journal), tasks)]


def _all(client: Client) -> list[TaskView]:
    found: list[TaskView] = []
    while True:
        page = client.tasks(limit=1000, offset=len(found))
        found += page.tasks
        if not page.tasks:
            return found


if __name__ == "__main__":
    main()
