"""One daemon beside its resource manager, harmed again and again while tasks keep coming.

At the end a checker that knows nothing of cosched reads the journal that the tasks themselves have kept, or the history
of a simulated pool, and what each task wrote is asked for: it must be that task's own.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.faults.harm import GRACE, KINDS_OF, Harm
from benchmarks.faults.results import Session
from benchmarks.faults.troubled_site import TroubledSite
from cosched.api.documents import TaskRequest
from cosched.errors import SystemFault, UserError
from cosched.simulation.kernels import KERNELS, kernel_profile
from tests.history import faults, read, read_pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cosched.api.documents import TaskView
    from cosched.client import Client
    from demo.site import Site

__all__ = ["Submitter", "run"]

_SCALE = 0.05
_CALM = (0.0, 0.8)  # seconds between two faults
_PATIENCE = 600.0
_TRY_AGAIN = 0.1  # seconds between two submissions under one key
_PAUSE = (0.1, 0.9)  # seconds between two requests
_FROM_CATALOGUE, _WITH_FIGURES = 0.3, 0.75  # shares of the kinds of requests, added up
_SAYS = ("/bin/sh", "-c", 'echo "$0"; exec "$@"')  # writes its task's name, then is the kernel


class Submitter(threading.Thread):
    """Keeps some tasks waiting, each request submitted under a key until it is answered.

    Attributes:
        answered: the identifiers of the tasks that each key was answered with, and their names.
        tasks: all of these identifiers, in their order.
        refused: what was said to be the user's own fault; nothing is.
    """

    def __init__(self, site: Site, seed: int) -> None:
        super().__init__(name="submitter", daemon=True)
        self.answered: dict[str, tuple[list[str], list[str]]] = {}
        self.tasks: list[str] = []
        self.refused: list[str] = []
        self._site = site
        self._random = random.Random(seed)
        self._free = threading.Lock()
        self._ended = threading.Event()

    def run(self) -> None:
        """Submit until `stop`."""
        while not self._ended.is_set():
            key = f"key-{len(self.answered) + len(self.refused)}"
            requests = self._draw(key)
            while key not in self.answered:
                try:
                    with self._free, self._site.client() as client:
                        tasks = client.submit_all(requests, key)
                except SystemFault:
                    time.sleep(_TRY_AGAIN)
                except UserError as error:
                    self.refused.append(f"{key} was refused: {error}")
                    break
                else:
                    self.answered[key] = [task.id for task in tasks], [request.name for request in requests]
                    self.tasks += self.answered[key][0]
            self._ended.wait(self._random.uniform(*_PAUSE))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Submit nothing inside the block."""
        with self._free:
            yield

    def stop(self) -> None:
        """End after the submission under way."""
        self._ended.set()
        self.join()

    def _draw(self, key: str) -> list[TaskRequest]:
        """Return one task of the catalogue, with figures of its own or without any; or several of these at once."""
        kernel, kind = self._random.choice(KERNELS), self._random.random()
        if kind < _FROM_CATALOGUE:
            return [TaskRequest(application=kernel, hosts="1-4", name=key)]
        command = self._site.command(kernel, str(_SCALE))
        if kind < _WITH_FIGURES:
            figures = tuple(kernel_profile(kernel, _SCALE).on(count) for count in range(1, 5))
            return [TaskRequest(command=(*_SAYS, key, *command), profile=figures, name=key)]
        hosts = str(self._random.randint(1, 2))
        names = [f"{key}.{place}" for place in range(self._random.randint(1, 8))]
        return [TaskRequest(command=(*_SAYS, name, *command), hosts=hosts, name=name) for name in names]


def run(
    connector: str,
    count: int,
    until: float,
    seed: int,
    more: Mapping[str, Any],
    *,
    pace: float = 1.0,
    keep: Path | None = None,
) -> Session:
    """Harm a daemon and check what came of it.

    Args:
        connector: its resource manager.
        count: how many faults.
        until: no more faults after this (monotonic seconds).
        seed: of everything that is drawn.
        more: settings of the connector.
        pace: all times for which harm lasts are multiplied by this.
        keep: folder for all files of a site where something is wrong; None: nothing is kept.
    """
    began, chance = time.monotonic(), random.Random(seed)
    dispatch = {"grace": f"{pace * GRACE}s", "retry": "200ms", "attempts": 1000}  # hosts are taken off under tasks
    settings = {"dispatch": dispatch, f"connector.{connector}": more}
    with TroubledSite(connector, scale=_SCALE, settings=settings) as site:
        submitter = Submitter(site, seed)
        submitter.start()
        harm = Harm(site, chance, submitter, pace)
        done = _harm(harm, KINDS_OF[connector], chance, count, until)
        submitter.stop()
        harm.heal()
        with site.client() as client:
            tasks = {task.id: task for task in _all(client)}
            ended = client.wait(list(tasks), _PATIENCE)
            wrong = [*harm.wrong, *harm.wishes.wrong, *submitter.refused]
            wrong += [*_outcomes(ended, harm.wishes.cancelled), *_answers(submitter, tasks)]
            if connector != "simulated":
                wrong += _outputs(client, [task for task in ended if task.state == "completed"])
        lines = read_pool(site.history) if connector == "simulated" else read(site.journal)
        gone = {task.id for task in ended if task.state == "cancelled"}
        wrong += [*faults(lines, set(tasks) - gone, gone, harm.outages), *harm.wishes.contradictions(ended, lines)]
        answers = site.wrong_answers
        if wrong and keep is not None:
            _keep(site, keep / f"{connector}-{seed}")
    seconds = round(time.monotonic() - began, 1)
    return Session(connector, seed, dict(done), len(tasks), seconds, tuple(wrong), answers)


def _keep(site: Site, folder: Path) -> None:
    """Copy the files of a site, and what its HTCondor pool has written, for whoever looks for the cause."""
    site.stop()
    shutil.copytree(site.folder, folder / "site", ignore=_no_sockets, dirs_exist_ok=True)
    if site.pool is not None:
        shutil.copytree(site.pool.directory, folder / "pool", ignore=_no_sockets, dirs_exist_ok=True)


def _no_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not Path(folder, name).is_file() and not Path(folder, name).is_dir()]


def _harm(harm: Harm, kinds: Sequence[str], chance: random.Random, count: int, until: float) -> Counter[str]:
    """Do harm, each kind as often as any other; return how often which."""
    done: Counter[str] = Counter()
    waiting: list[str] = []
    while done.total() < count and time.monotonic() < until:
        time.sleep(chance.uniform(*_CALM))
        waiting = waiting or chance.sample(kinds, len(kinds))
        kind = waiting.pop()
        done[kind] += harm.kinds[kind]()
    return +done


def _outcomes(ended: Iterable[TaskView], cancelled: frozenset[str]) -> list[str]:
    allowed = {task.id: ("completed", "cancelled") if task.id in cancelled else ("completed",) for task in ended}
    return [f"task {task.id} is {task.state}: {task.reason}" for task in ended if task.state not in allowed[task.id]]


def _answers(submitter: Submitter, tasks: Mapping[str, TaskView]) -> list[str]:
    """Return where a key was answered with other tasks than its own, and what was taken in twice."""
    wrong = [
        f"{key} was answered with tasks {', '.join(ids)}, which are not its own"
        for key, (ids, own) in submitter.answered.items()
        if [tasks[task].name if task in tasks else "" for task in ids] != own
    ]
    names = Counter(task.name for task in tasks.values())
    return wrong + [f"{name} was taken in {count} times" for name, count in sorted(names.items()) if count > 1]


def _outputs(client: Client, tasks: Sequence[TaskView]) -> list[str]:
    """Return which tasks' output is not what they wrote."""
    wrong = []
    for task in tasks:
        output = None if task.application else client.output(task.id)
        if output is not None and output.data != f"{task.name}\n".encode():
            wrong.append(f"task {task.id}, named {task.name}, is shown {output.data[:80]!r}")
    return wrong


def _all(client: Client) -> list[TaskView]:
    found: list[TaskView] = []
    while True:
        page = client.tasks(limit=1000, offset=len(found))
        found += page.tasks
        if not page.tasks:
            return found
