"""What crashes leave: a story goes on from each of its steps as the next daemon finds it.

Start at `crash_at_each_step`. What comes before a crash is lived through once for all of them, in one daemon that does
not die.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.daemon.lives import Pool, World

_NEVER_TAKEN_BACK = ("pool", "world", "crash", "reached")  # `pool` and `world` by what they remember, each by itself


class Told(Protocol):
    """A story of daemons; what it remembers itself stands in its attributes.

    Attributes:
        pool, world: what outlives the daemon.
        lives: how many daemons it took.
    """

    pool: Pool
    world: World
    lives: int


S = TypeVar("S", bound=Told)


@dataclass(frozen=True)
class Remains:
    """What a crash leaves.

    Attributes:
        step: name of the step at which it comes.
        memory: what story, pool and world remember, in this order.
        files: contents of the database's files by name.
    """

    step: str
    memory: tuple[dict[str, Any], ...]
    files: dict[str, bytes]

    def put_back(self, folder: Path, story: Told) -> None:
        """Let all be as it was when the crash came."""
        for file in folder.glob("cosched.db*"):
            file.unlink()
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        for thing, memory in zip(_outside(story), self.memory, strict=True):
            vars(thing).update({name: copy(value) for name, value in memory.items()})

    def is_left_by(self, other: Remains) -> bool:
        """Return whether another crash leaves the same: the file of the last commit tells whether one came between."""
        return self.memory == other.memory and self.files[_LAST_COMMIT] == other.files[_LAST_COMMIT]


_LAST_COMMIT = "cosched.db.last-commit"


def remains_of_each_step(folder: Path, story: S, run: Callable[[S], None]) -> list[Remains]:
    """Let a story happen without a crash; return what one at each of its steps would leave.

    Args:
        folder: where the database is.
        story: it is at its beginning, or where `put_back` put it.
        run: lets it happen to its end, and checks what came of it.
    """
    remains: list[Remains] = []

    def note(world: World) -> None:
        memory = tuple(_memory(thing) for thing in _outside(story))
        # As a process leaves them that is killed: the index of the WAL is shared memory, made anew by who comes next.
        files = {file.name: file.read_bytes() for file in folder.glob("cosched.db*") if file.suffix != ".db-shm"}
        remains.append(Remains(world.reached[-1], memory, files))

    usual, story.world.crash = story.world.crash, note
    run(story)
    story.world.crash = usual
    assert story.lives == 1
    return remains


def crash_at_each_step(folder: Path, story: S, run: Callable[[S], None]) -> list[str]:
    """Let a story happen, then go on from each of its steps as a crash leaves it; return the names of the steps.

    Where one step leaves what the one before left, the next daemon has nothing to tell them by: it lives once.

    Args:
        folder: where the database is.
        story: as for `remains_of_each_step`.
        run: likewise.
    """
    remains = remains_of_each_step(folder, story, run)
    for one in _without_repeats(remains):
        one.put_back(folder, story)
        run(story)
        assert story.lives == 1
    return [one.step for one in remains]


def _without_repeats(remains: list[Remains]) -> Iterable[Remains]:
    before = None
    for one in remains:
        if before is None or not one.is_left_by(before):
            yield one
        before = one


def _outside(story: Told) -> tuple[object, ...]:
    return story, story.pool, story.world


def _memory(thing: object) -> dict[str, Any]:
    """Return what a thing remembers: its values never change, its collections do."""
    return {name: copy(value) for name, value in vars(thing).items() if name not in _NEVER_TAKEN_BACK}
