"""Results of fault sessions are summed up in one file, so that a long run is done in many short ones."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Results", "Session"]


@dataclass(frozen=True, slots=True)
class Session:
    """What came of one session.

    Attributes:
        connector: the resource manager, or "federation".
        seed: of everything that was drawn.
        faults: how many of each kind there were.
        tasks: how many were accepted.
        seconds: how long it took.
        wrong: everything that is wrong.
        answers: wrong, late or missing answers that the resource manager gave while it lied, was slow or away.
    """

    connector: str
    seed: int
    faults: Mapping[str, int]
    tasks: int
    seconds: float
    wrong: tuple[str, ...] = ()
    answers: int = 0


@dataclass(slots=True)
class Results:
    """All sessions so far."""

    sessions: list[Session] = field(default_factory=list)

    @classmethod
    def read(cls, file: Path | None) -> Results:
        """Return what a file holds; nothing where there is none."""
        if file is None or not file.exists():
            return cls()
        sessions = json.loads(file.read_text())["sessions"]
        return cls([Session(**{**each, "wrong": tuple(each["wrong"])}) for each in sessions])

    def write(self, file: Path) -> None:
        """Replace a file's content at once: whoever is killed meanwhile loses one session."""
        part = file.with_name(f"{file.name}.part")
        part.write_text(json.dumps(self.document(), indent=2))
        part.replace(file)

    def document(self) -> dict[str, Any]:
        """Return the sums, then the sessions."""
        connectors = sorted({each.connector for each in self.sessions})
        return {
            "faults": {name: self.faults(name) for name in connectors},
            "total": sum(sum(each.faults.values()) for each in self.sessions),
            "tasks": sum(each.tasks for each in self.sessions),
            "answers": sum(each.answers for each in self.sessions),
            "seconds": round(sum(each.seconds for each in self.sessions)),
            "wrong": self.wrong(),
            "sessions": [asdict(each) for each in self.sessions],
        }

    def faults(self, connector: str) -> dict[str, int]:
        """Return how many faults of each kind a connector has had."""
        found: dict[str, int] = {}
        for each in self.sessions:
            for kind, count in each.faults.items() if each.connector == connector else ():
                found[kind] = found.get(kind, 0) + count
        return dict(sorted(found.items()))

    def seed(self, connector: str, first: int) -> int:
        """Return the seed of a connector's next session: no session repeats another."""
        return first + sum(each.connector == connector for each in self.sessions)

    def wrong(self) -> list[str]:
        """Return everything that is wrong, with the session that it was found in."""
        return [f"{each.connector}, seed {each.seed}: {fault}" for each in self.sessions for fault in each.wrong]

    def missing(self, connector: str, kinds: Sequence[str], minimum: int) -> dict[str, int]:
        """Return the faults of each kind that a connector lacks to the minimum."""
        found = self.faults(connector)
        return {kind: minimum - found.get(kind, 0) for kind in kinds if found.get(kind, 0) < minimum}
