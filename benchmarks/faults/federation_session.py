"""Daemons that forward tasks to one another, killed and cut off again and again: is a task lost, does one run twice?

Real daemons, real mutual TLS through wires that cut, refuse, delay and lose answers, SIGKILL at random moments, while a
daemon starts, too; tasks with tight deadlines keep coming. At the end a checker that knows nothing of cosched reads the
history that the tasks themselves have written, wherever they ran.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from cosched.errors import SystemFault, UserError
from cosched.simulation.kernels import KERNELS, kernel_profile
from tests.testbed.federation import federation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.api.documents import TaskDetail
    from tests.testbed.federation import Domain, Federation
    from tests.testbed.wire import Wire

__all__ = ["KINDS", "Report", "run"]

_NAMES = ("north", "south", "west", "east")
_HOSTS = 3
_SCALE = 0.2  # seconds that one published second takes
_LEASE = "2s"  # many tasks are taken back, then
_KINDS = {"kill": 4, "cut": 2, "lost answer": 3, "parted": 3, "delayed": 2}  # how many of each in a round of faults
KINDS = tuple(_KINDS)
_CALM = 0.8  # longest time between two faults, seconds
_DOWN = 2.0  # longest time for which a daemon stays away
_KILLED_AT_START = 0.25  # share of the starts that are cut off
_LASTS = (0.5, 3.5)  # seconds until a wire is good again
_BOTH_WAYS = 0.7  # share of the faults of wires
_BY_MODEL = 0.25  # share of the tasks that are predicted by a model; the others bring their figures
_PATIENCE = 120.0
_TRY_AGAIN = 0.1  # seconds between two submissions under one key


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it.

    Attributes:
        seed: of everything that was drawn.
        faults: how many of each kind there were.
        wires: how many connections were "cut" or "refused", and how many answers "lost".
        tasks: how many were accepted.
        forwarded: how many of them ended in another domain.
        came_back: hand-overs that did not end with the task's end: taken back, given back or refused.
        seconds: how long it took.
        wrong: everything that is wrong.
    """

    seed: int
    faults: Mapping[str, int]
    wires: Mapping[str, int]
    tasks: int
    forwarded: int
    came_back: int
    seconds: float
    wrong: tuple[str, ...]


class _Submitter(threading.Thread):
    """Lets bursts of tasks fall upon one domain after the other, each submitted under a key until it is answered.

    Attributes:
        accepted: label → the domain and the identifier there.
    """

    def __init__(self, found: Federation, seed: int) -> None:
        super().__init__(name="submitter", daemon=True)
        self.accepted: dict[str, tuple[str, str]] = {}
        self._count = 0
        self._federation = found
        self._random = random.Random(seed)
        self._ended = threading.Event()

    def run(self) -> None:
        """Submit until `stop`."""
        while not self._ended.wait(self._random.uniform(3.0, 6.0)):
            self.burst(self._random.choice(list(self._federation.domains.values())))

    def burst(self, domain: Domain) -> None:
        """Submit more to a domain than it can do at once."""
        for _ in range(self._random.randint(5, 7)):
            self._submit(domain)

    def stop(self) -> None:
        """End after the submission under way."""
        self._ended.set()
        self.join()

    def _submit(self, domain: Domain) -> None:
        self._count += 1
        label = f"{domain.name}-{self._count}"
        allowance, kernel = self._random.uniform(3.0, 12.0), self._random.choice(KERNELS)
        profile = None if self._random.random() < _BY_MODEL else kernel_profile(kernel, _SCALE).seconds
        request = TaskRequest(
            application=kernel, parameters={"Label": label}, profile=profile, deadline=time.time() + allowance
        )
        while label not in self.accepted:
            try:
                with domain.client() as client:
                    self.accepted[label] = domain.name, client.submit(request, label).id
            except SystemFault:
                time.sleep(_TRY_AGAIN)
            except UserError:  # its deadline is over: it was not accepted before
                return


def run(faults: int, seconds: float, seed: int, domains: int = 2) -> Report:
    """Let it storm: so many faults, or until so many seconds are over, over so many domains, 2…4."""
    began = time.monotonic()
    names = _NAMES[:domains]
    links = [(one, two, "neighbour") for place, one in enumerate(names) for two in names[:place]]
    with federation(dict.fromkeys(names, _HOSTS), links, scale=_SCALE, agent={"lease": _LEASE}) as found:
        submitter = _Submitter(found, seed)
        submitter.burst(found.domains[names[0]])  # some of them are away when the first fault comes
        _await_forwarded(found.domains[names[0]])
        submitter.start()
        kinds = _storm(found, random.Random(seed), faults, began + seconds)
        submitter.stop()
        found.heal()
        tasks = _ended(found, submitter.accepted)
        wires = sum((wire.done for wire in found.wires.values()), Counter[str]())
        wrong = [*_contradictions(found, tasks, submitter.accepted), *found.faults(list(tasks))]
    handovers = [handover for task in tasks.values() for handover in task.handovers]
    came_back = sum(handover.state != "ended" for handover in handovers)
    forwarded = sum(bool(task.peer) for task in tasks.values())
    return Report(
        seed,
        dict(kinds),
        dict(wires),
        len(tasks),
        forwarded,
        came_back,
        round(time.monotonic() - began, 1),
        tuple(wrong),
    )


def _await_forwarded(domain: Domain) -> None:
    """Wait until a task has been handed over, if that happens at all."""
    until = time.monotonic() + _PATIENCE / 10
    with domain.client() as client:
        while time.monotonic() < until and not client.status().tasks["forwarded"]:
            time.sleep(_TRY_AGAIN)


def _storm(found: Federation, chance: random.Random, faults: int, until: float) -> Counter[str]:
    """Do harm; return how often which."""
    done: Counter[str] = Counter()
    pairs = [(found.wires[one, two], found.wires[two, one]) for one, two in found.wires if one < two]
    round_: list[str] = []
    while done.total() < faults and time.monotonic() < until:
        time.sleep(chance.uniform(0.0, _CALM))
        if not round_:
            round_ = chance.sample(list(_KINDS), sum(_KINDS.values()), counts=list(_KINDS.values()))
        kind = round_.pop()
        done[kind] += 1
        if kind == "kill":
            _kill(chance.choice(list(found.domains.values())), chance)
        else:
            _harm(kind, chance.choice(pairs), chance)
    return done


def _harm(kind: str, wires: tuple[Wire, Wire], chance: random.Random) -> None:
    """Do harm to what two domains say to one another; those that are parted may be so one way alone."""
    both = chance.random() < _BOTH_WAYS
    for wire in wires if both else chance.sample(wires, 1):
        if kind == "delayed":
            wire.delay = chance.uniform(0.05, 1.0)
        elif kind == "lost answer":
            wire.lose_answers()
        else:
            wire.refuses = kind == "parted"
            wire.cut()
        threading.Timer(chance.uniform(*_LASTS), wire.heal).start()


def _kill(domain: Domain, chance: random.Random) -> None:
    """Kill a daemon and start it again, now and then only at the second try."""
    domain.kill()
    time.sleep(chance.uniform(0.0, _DOWN))
    if chance.random() < _KILLED_AT_START:
        killer = threading.Timer(chance.uniform(0.0, 1.0), domain.kill)
        killer.start()
        with suppress(SystemFault):  # killed before it served
            domain.start()
        killer.join()
        domain.kill()  # where the timer was quicker than the start
    domain.start()


def _ended(found: Federation, accepted: Mapping[str, tuple[str, str]]) -> dict[str, TaskDetail]:
    """Wait until all that was accepted has ended where it was accepted; return it by label."""
    until = time.monotonic() + _PATIENCE
    tasks: dict[str, TaskDetail] = {}
    for name, domain in found.domains.items():
        own = {label: task for label, (where, task) in accepted.items() if where == name}
        with domain.client() as client:
            if own:
                client.wait(list(own.values()), until - time.monotonic())
            tasks |= {label: client.task(task) for label, task in own.items()}
    return tasks


def _contradictions(
    found: Federation, tasks: Mapping[str, TaskDetail], accepted: Mapping[str, tuple[str, str]]
) -> list[str]:
    """Return where daemons say something else than the history."""
    ran = found.ran()
    wrong = [
        f"task {label} is {task.state}: {task.reason}" for label, task in tasks.items() if task.state != "completed"
    ]
    for label, task in tasks.items():
        said = task.peer or accepted[label][0]
        if ran.get(label) != [said]:
            wrong.append(f"task {label} ended in {said}, as is said, and the history has {ran.get(label)}")
    return wrong
