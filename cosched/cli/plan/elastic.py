"""Show a plan with elastic tasks: what each is promised, and the pieces in which it is expected to run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import TaskPiece

__all__ = ["with_pieces"]


def with_pieces(
    document: Mapping[str, Any], problem: Problem, pieces: Sequence[TaskPiece], *, promised: bool
) -> dict[str, Any]:
    """Return the document of a plan with pieces in place of its assignments.

    Makespan, gap and idle share are those expected, and deadlines are judged by the promise, already before.

    Args:
        document: the plan with an assignment for each task.
        problem: what was planned.
        pieces: by their starts.
        promised: whether the assignments are promises; else they only sum the pieces up.
    """
    ends = {item["task"]: item["end"] for item in document["assignments"]}
    elastic = {problem.tasks[task] for task in problem.elastic or {}}
    number: Counter[str] = Counter()
    assignments = []
    for piece in pieces:
        number[piece.task] += 1
        row = {"task": piece.task, "hosts": list(piece.hosts), "start": piece.start, "end": piece.end}
        row |= {"piece": number[piece.task]} if piece.task in elastic else {}
        assignments.append(row | ({"promised_end": ends[piece.task]} if promised else {}))
    makespan = {"promised_makespan": max(ends.values())} if promised else {}
    return {**document, **makespan, "assignments": assignments}
