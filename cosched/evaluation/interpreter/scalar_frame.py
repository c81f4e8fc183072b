"""The variables and the state of one evaluation on a single host count.

Part of the scalar evaluator (`scalar_statements`), which ends when the array interpreter names lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cosched.evaluation.budget import DEEPEST_CALLS, fail
from cosched.evaluation.clocks.steps import Recorder

if TYPE_CHECKING:
    from cosched.evaluation.budget import Budget
    from cosched.evaluation.clocks.steps import Steps
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Position

__all__ = [
    "CompiledBlock",
    "CompiledNumber",
    "CompiledValue",
    "ProgramCache",
    "ScalarFrame",
    "ScalarRun",
    "ScalarValue",
]

# ── The state of one evaluation while the model's exec procedures run.


class ProgramCache:
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
        self.known: dict[tuple[int, tuple[tuple[str, ScalarValue], ...]], list[Steps]] = {}


class ScalarRun:
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

    def __init__(self, programs: ProgramCache, depth: int = 0) -> None:
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


# ── What a compiled expression or statement sees while it runs.


ScalarValue = float | str | tuple[float, ...]


class ScalarFrame:
    """The variables of an object, those of the procedure that runs, and the run itself."""

    __slots__ = ("locals", "run", "values")

    def __init__(self, values: dict[str, ScalarValue], own: dict[str, ScalarValue], run: ScalarRun) -> None:
        self.values = values
        self.locals = own
        self.run = run


CompiledNumber = Callable[[ScalarFrame], float]
CompiledValue = Callable[[ScalarFrame], ScalarValue]
# None: go on with the next statement; a value: the procedure returns it.
CompiledBlock = Callable[[ScalarFrame], "float | None"]
