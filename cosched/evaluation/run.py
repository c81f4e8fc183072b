"""The state of one evaluation while the model's exec procedures run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.evaluation.budget import DEEPEST_CALLS
from cosched.evaluation.faults import fail
from cosched.evaluation.steps import Recorder

if TYPE_CHECKING:
    from cosched.evaluation.budget import Budget
    from cosched.evaluation.frame import Value
    from cosched.evaluation.steps import Steps
    from cosched.language.source import Source
    from cosched.language.syntax import Position

__all__ = ["Programs", "Run"]


class Programs:
    """What objects did in this evaluation: the same object with the same variables does the same again.

    Attributes:
        budget: shared by the whole evaluation.
        processors: how many.
        known: by identity of the object and the variables linked into it.
    """

    __slots__ = ("budget", "known", "processors")

    def __init__(self, budget: Budget, processors: int) -> None:
        self.budget = budget
        self.processors = processors
        self.known: dict[tuple[int, tuple[tuple[str, Value], ...]], list[Steps]] = {}


class Run:
    """One object being evaluated on a number of processors.

    Attributes:
        programs: what the whole evaluation knows already.
        budget: shared by the whole evaluation.
        processors: how many.
        depth: of nested calls.
        recorder: takes the steps of the object since its last call of another.
        program: what the object has done so far: its own segments and those of the objects it called.
    """

    __slots__ = ("budget", "depth", "processors", "program", "programs", "recorder")

    def __init__(self, programs: Programs, depth: int = 0) -> None:
        self.programs = programs
        self.budget = programs.budget
        self.processors = programs.processors
        self.depth = depth
        self.recorder = Recorder()
        self.program: list[Steps] = []

    def flush(self) -> None:
        """Close the current segment: its steps come before whatever follows."""
        segment = self.recorder.close()
        if segment is not None:
            self.program.append(segment)

    def enter(self, source: Source, at: Position) -> None:
        """Count one more nested call; the caller counts it off again."""
        self.depth += 1
        if self.depth > DEEPEST_CALLS:
            fail(source, at, f"calls are nested deeper than {DEEPEST_CALLS}: does this procedure call itself?")
