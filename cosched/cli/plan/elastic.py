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

    Makespan, gap and idle share are those expected; deadlines are judged by the promise, as they were.
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
    makespan = max(piece.end for piece in pieces)
    busy = sum(len(piece.hosts) * (piece.end - piece.start) for piece in pieces)
    return {
        **document,
        "makespan": makespan,
        "gap": makespan / document["lower_bound"] - 1,
        "idle": 1 - busy / (len(problem.hosts) * makespan),
        "promised_makespan": document["makespan"],
        "assignments": assignments,
    }
