"""Users who cancel, edit, hold and release tasks at each step while harm is done, and whether they got their wish.

What was answered with yes must be so in the end: an edited task has its new values and began on its new number of
hosts, a held one began nothing until it was released. What was refused must have come too late. Where the answer was
lost, either may be so.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cosched.api.documents import TaskChange
from cosched.errors import CoschedError, SystemFault, UserError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.api.documents import TaskDetail
    from cosched.client import Client
    from tests.history import Line

__all__ = ["KINDS", "Wishes"]

_STATES = {"queued": "queued", "starting": "dispatching", "running": "running", "ended": "completed"}
KINDS = (
    *(f"{word} task {done}" for done in ("cancelled", "edited", "held") for word in _STATES),
    "held task cancelled",
    "held task edited",
    "held task released",
)
# Why a wish may be refused: it comes too late; or an earlier edit left a task its own figures on its new hosts alone.
_REFUSALS = ("has left the queue", "has ended", "is being cancelled", "the profile has no time for")
_FAR = 1e6  # seconds until the deadlines that edits give: nothing is refused for them
_MOST_HOSTS = 4
_WAITED = 1.0  # seconds for which there may be no task of a state yet
_TRIES = 60.0  # seconds for which releases are tried at the end


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an edit, answered with yes at a time, has made of a task."""

    at: float
    deadline: float
    priority: int
    hosts: int | None


class Wishes:
    """Asks for changes of tasks, as a random generator has it, and keeps what was answered.

    Attributes:
        kinds: name → asks for something of this kind; False where there was no such task.
        wrong: answers that were not as they should be.
    """

    def __init__(self, client: Callable[[], Client], chance: random.Random) -> None:
        """Set up; `client` makes clients of the daemon."""
        self._client = client
        self._chance = chance
        self._count = 0
        self._cancelled: set[str] = set()
        self._edits: dict[str, list[_Edit]] = defaultdict(list)
        self._unsure: set[str] = set()  # tasks with an edit whose answer was lost
        self._holding: dict[str, float] = {}  # held task → when the hold was answered
        self._maybe_held: set[str] = set()
        self._held: list[tuple[str, float, float]] = []  # tasks that were held from one time to another
        self.wrong: list[str] = []
        self.kinds: dict[str, Callable[[], bool]] = {
            **{f"{word} task cancelled": partial(self._cancel, state) for word, state in _STATES.items()},
            **{f"{word} task edited": partial(self._edit, state) for word, state in _STATES.items()},
            **{f"{word} task held": partial(self._hold, state) for word, state in _STATES.items()},
            "held task cancelled": partial(self._cancel, "held"),
            "held task edited": partial(self._edit, "held"),
            "held task released": self._release,
        }

    @property
    def cancelled(self) -> frozenset[str]:
        """Tasks that a user has asked to cancel; each may have ended before, or even not have heard of it."""
        return frozenset(self._cancelled)

    def release_all(self) -> None:
        """Release whatever may be held, so that everything can end."""
        until = time.monotonic() + _TRIES
        for task in [*self._holding, *self._maybe_held]:
            while not self._ask_release(task) and time.monotonic() < until:
                time.sleep(0.1)

    def contradictions(self, tasks: Iterable[TaskDetail], lines: Sequence[Line]) -> list[str]:
        """Return where tasks that have ended, and the history, are not as was wished."""
        begun: Mapping[str, list[Line]] = defaultdict(list)
        for line in lines:
            if line.kind == "start":
                begun[line.task].append(line)
        wrong = [
            f"task {task} began at {line.time} while it was held, from {since} to {until}"
            for task, since, until in self._held
            for line in begun[task]
            if since < line.time < until
        ]
        for task in tasks:
            if task.id not in self._unsure and (edits := self._edits.get(task.id)):
                wrong += _unlike(task, edits, begun[task.id])
        return wrong

    def _cancel(self, state: str) -> bool:
        """Cancel a task that is in a state, or was just now; return whether there was one."""

        def cancel(client: Client, task: str) -> None:
            self._cancelled.add(task)
            self._end_hold(task)  # whoever cancels a task lets its hold go
            client.cancel(task)

        return self._ask(state, cancel, self._cancelled)

    def _edit(self, state: str) -> bool:
        def edit(client: Client, task: str) -> None:
            self._count += 1
            hosts = self._chance.choice([None, *range(1, _MOST_HOSTS + 1)])
            deadline = round(time.time() + _FAR) + self._count
            try:
                client.edit(task, TaskChange(deadline=deadline, priority=self._count, hosts=hosts))
            except SystemFault:
                self._unsure.add(task)
                raise
            except UserError as refusal:
                self._check_refusal(f"{state} task {task} is edited", refusal)
            else:
                self._check_not_ended(f"task {task} is edited", state)
                self._edits[task].append(_Edit(time.time(), deadline, self._count, hosts))

        return self._ask(state, edit)

    def _hold(self, state: str) -> bool:
        def hold(client: Client, task: str) -> None:
            try:
                client.hold(task)
            except SystemFault:
                self._maybe_held.add(task)
                raise
            except UserError as refusal:
                self._check_refusal(f"{state} task {task} is held", refusal)
            else:
                self._check_not_ended(f"task {task} is held", state)
                self._holding[task] = time.time()

        return self._ask(state, hold, self._holding)

    def _release(self) -> bool:
        if not self._holding:
            return False
        self._ask_release(self._chance.choice(list(self._holding)))
        return True

    def _ask_release(self, task: str) -> bool:
        """Release a task; return whether that was answered."""
        self._end_hold(task)
        try:
            with self._client() as client:
                client.release_task(task)
        except SystemFault:
            self._maybe_held.add(task)
            return False
        except UserError as refusal:
            self._check_refusal(f"task {task} is released", refusal)
        self._maybe_held.discard(task)
        return True

    def _end_hold(self, task: str) -> None:
        since = self._holding.pop(task, None)
        if since is not None:
            self._held.append((task, since, time.time()))

    def _ask(self, state: str, ask: Callable[[Client, str], None], without: Iterable[str] = ()) -> bool:
        """Ask something of a task that is in a state, or was just now; return whether there was one."""
        until = time.monotonic() + _WAITED
        while time.monotonic() < until:
            with suppress(CoschedError), self._client() as client:
                found = list(self._holding) if state == "held" else _in_state(client, state)
                tasks = [task for task in found if task not in without]
                if tasks:
                    task = self._chance.choice(tasks)
                    with suppress(SystemFault):  # nobody knows whether it was done
                        ask(client, task)
                    return True
            time.sleep(0.02)
        return False

    def _check_refusal(self, what: str, refusal: UserError) -> None:
        if not any(why in str(refusal) for why in _REFUSALS):
            self.wrong.append(f"{what}, and refused: {refusal}")

    def _check_not_ended(self, what: str, state: str) -> None:
        if state == "completed":
            self.wrong.append(f"{what} after its end")


def _in_state(client: Client, state: str) -> list[str]:
    return [task.id for task in client.tasks([state], limit=12).tasks]


def _unlike(task: TaskDetail, edits: Sequence[_Edit], begun: Sequence[Line]) -> list[str]:
    """Return in what a task, and its attempts from each edit to the next, are not as edited."""
    last = edits[-1]
    wrong = []
    if (task.deadline, task.priority) != (last.deadline, last.priority):
        wrong.append(
            f"task {task.id} has deadline {task.deadline} and priority {task.priority}, edited to {last.deadline} and "
            f"{last.priority}"
        )
    hosts = [edit for edit in edits if edit.hosts is not None]
    for place, edit in enumerate(hosts):
        following = hosts[place + 1 : place + 2]
        until = following[0].at if following else math.inf
        # Before the later edit is answered it may be in force.
        allowed = {edit.hosts, *(later.hosts for later in following)}
        counts = {line.count for line in begun if edit.at < line.time < until} - allowed
        if counts:
            wrong.append(f"task {task.id} began on {min(counts)} hosts, edited to {edit.hosts}")
    return wrong
