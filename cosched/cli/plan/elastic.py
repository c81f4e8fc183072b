"""Show a plan with elastic tasks: what each is promised, and the pieces in which it is expected to run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.elastic.pieces import TaskPiece
    from cosched.scheduling.problem import Problem

__all__ = ["with_pieces"]


def with_pieces(document: Mapping[str, Any], problem: Problem, pieces: Sequence[TaskPiece]) -> dict[str, Any]:
    """Return the document of a plan with pieces in place of its assignments.

    Makespan, gap and idle share are those expected, and deadlines are judged by the promise, already before.
    """
    promised = {item["task"]: item["end"] for item in document["assignments"]}
    elastic = {problem.tasks[task] for task in problem.elastic or {}}
    number: Counter[str] = Counter()
    assignments = []
    for piece in pieces:
        number[piece.task] += 1
        row = {"task": piece.task, "hosts": list(piece.hosts), "start": piece.start, "end": piece.end}
        row |= {"piece": number[piece.task]} if piece.task in elastic else {}
        assignments.append(row | {"promised_end": promised[piece.task]})
    return {**document, "promised_makespan": max(promised.values()), "assignments": assignments}
