"""The time of sequential work on lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.lanes import UnbatchableError
from cosched.language.syntax import Call, Case, Compute, Loop, MeasuredUsage, MemoryUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.lane_procedures import LaneProcedure
    from cosched.language.syntax import Cflow, Expression, Usage

    Floats = NDArray[np.float64]

__all__ = ["flow_time"]


def flow_time(procedure: LaneProcedure, statements: Sequence[Cflow]) -> float | Floats:
    """Return the time of sequential work on each lane, us; added up in the order of the other evaluator."""
    times = [_part(procedure, statement) for statement in statements]
    return times[0] if len(times) == 1 else sum(times)


def _part(procedure: LaneProcedure, statement: Cflow) -> float | Floats:
    procedure.batch.spend()
    match statement:
        case Compute():
            return _usage(procedure, statement.usage)
        case Loop():
            turns = procedure.number(statement.count)
            if np.any(np.less(turns, 0)):
                raise UnbatchableError
            return turns * (_usage(procedure, statement.usage) + flow_time(procedure, statement.body))
        case Case():
            return _case(procedure, statement)
        case Call():
            return procedure.invoke(statement.name, [procedure.number(item) for item in statement.arguments or ()])
    raise UnbatchableError  # a table of measured times may lack entries: the other evaluator says which


def _case(procedure: LaneProcedure, statement: Case) -> float | Floats:
    time, total = _usage(procedure, statement.usage), cast("float | Floats", 0.0)
    for arm in statement.arms:
        share = procedure.number(arm.probability)
        total = total + share
        if np.any(np.less(share, 0)) or np.any(np.greater(total, 1)):
            raise UnbatchableError
        time = time + share * flow_time(procedure, arm.body)
    return time


def _usage(procedure: LaneProcedure, usage: Usage) -> float | Floats:
    if isinstance(usage, MeasuredUsage):
        return procedure.number(usage.time)
    if isinstance(usage, MemoryUsage):
        memory = procedure.batch.hardware.memory
        assert memory is not None, "models that use what the hardware lacks are refused before"
        return memory.times(_bytes(procedure, usage.volume), _bytes(procedure, usage.working_set))
    costs = procedure.batch.hardware.operations
    fixed = sum(costs[entry.opcode] for entry in usage.entries if entry.count is None)
    return fixed + sum(
        procedure.number(entry.count) * costs[entry.opcode] for entry in usage.entries if entry.count is not None
    )


def _bytes(procedure: LaneProcedure, expression: Expression) -> float | Floats:
    found = procedure.number(expression)
    if not np.all(np.greater_equal(found, 0)):
        raise UnbatchableError
    return found
