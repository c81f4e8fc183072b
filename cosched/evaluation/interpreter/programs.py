"""An application's segments of steps: on many host counts at once, or on one.

`program` runs the array interpreter, `one_by_one` the scalar one; `initial` gives the variables before `init`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.budget import Budget, CountError, UnbatchableError, fail
from cosched.evaluation.interpreter.interpreter import InterpreterState
from cosched.evaluation.interpreter.loop_analysis import LoopAnalysis
from cosched.evaluation.interpreter.scalar_frame import ProgramCache, ScalarRun
from cosched.evaluation.interpreter.scalar_statements import CompiledObject
from cosched.evaluation.layout import factors
from cosched.evaluation.sites import linked_objects, sites
from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.syntax import MemoryUsage, Name, OpcodeCount, walk
from cosched.language.vocabulary import HARDWARE_OBJECT, MEMORY_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.application import Application
    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter import scalar_frame
    from cosched.evaluation.interpreter.lanes import LaneValue
    from cosched.evaluation.interpreter.scalar_frame import ScalarFrame, ScalarValue
    from cosched.language.linker import Linked
    from cosched.language.syntax import Node

    Indices = NDArray[np.int64]

__all__ = ["compiled_application", "initial", "initial_frame", "on_hosts", "one_by_one", "program"]

# ── What an application does on a hardware and a number of hosts, statement by statement: segments of steps.


@lru_cache(maxsize=64)
def compiled_application(application: Application, hardware: Hardware) -> CompiledObject:
    """Return an application with the costs of a hardware; opcodes and memory without a cost are faults."""
    missing = [
        _without_cost(linked, node, hardware)
        for linked in linked_objects(application.root)
        for node, _ in walk(linked.object)
        if (isinstance(node, OpcodeCount) and node.opcode not in hardware.operations)
        or (isinstance(node, MemoryUsage) and hardware.memory is None)
    ]
    if missing:
        raise ModelError(sorted(missing))
    return CompiledObject(application.root, hardware, sites(application.root), {})


def one_by_one(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> list[Steps]:
    """Return what the application does on `count` processors, as segments in order."""
    try:
        state = initial_frame(application, item, count, given, budget)
        known = _check_count(item, state, count, late=False)
        program = item.run(state)
        if not known:
            _check_count(item, state, count, late=True)
    except RecursionError:
        raise UserError(f"{application.name}: the model is nested too deeply to be evaluated") from None
    return program


def initial(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float]
) -> dict[str, ScalarValue] | None:
    """Return the application's variables before `init`; None where that is not enough to know the count is covered."""
    try:
        state = initial_frame(application, item, count, given, Budget())
        return state.values if _check_count(item, state, count, late=False) else None
    except (UserError, RecursionError):
        return None


def initial_frame(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> ScalarFrame:
    """Return the application's variables before `init` on a number of processors."""
    values: dict[str, ScalarValue] = {**_decomposed(application, count, given), **given}
    return item.start(ScalarRun(ProgramCache(budget, count)), values)


def _check_count(item: CompiledObject, frame: ScalarFrame, count: int, *, late: bool) -> bool:
    """Refuse a count that differs from what the application links into the hardware; return whether that is known.

    Before `init` the link may lack variables that only `init` sets; then the check is repeated after it (`late`).
    """
    found = item.hardware_processors()
    if found is None:
        return True
    value, at = found
    try:
        wanted = value(frame)
    except ModelError:
        if late:
            raise
        return False
    if wanted != count:
        assert isinstance(wanted, float)  # the checker lets nothing else be linked to it
        read = [
            node.id
            for link in item.object.links
            if link.target == HARDWARE_OBJECT
            for node, _ in walk(link)
            if isinstance(node, Name)
        ]
        names = ", ".join(dict.fromkeys(read)) or "another number there"
        message = f"the model is for {wanted:g} processors with these parameters: set {names}"
        fail(item.source, at, message, CountError)
    return True


def _decomposed(application: Application, count: int, given: Mapping[str, float]) -> dict[str, float]:
    """Return the sides of the grid that the user did not fix."""
    names = application.decompose
    free = [name for name in names if name not in given]
    fixed = math.prod(given[name] for name in names if name in given)
    if not names or not free:
        return {}
    rest = count / fixed if fixed > 0 else 0.0
    option = application.root.object.option("decompose")
    assert option is not None
    if rest < 1 or rest != int(rest):
        message = f"{count} hosts cannot be split with {', '.join(names)} fixed to {fixed:g} in product"
        fail(application.root.object.source, option.at, message, CountError)
    return dict(zip(free, map(float, factors(int(rest), len(free))), strict=True))


def on_hosts(error: ModelError, count: int) -> ModelError:
    """Return the error with the number of hosts in its messages."""
    on = f" (on {count} host{'s' if count > 1 else ''})"
    diagnostics = [Diagnostic(d.file, d.line, d.column, d.message + on, d.source) for d in error.diagnostics]
    return type(error)(diagnostics)


def _without_cost(linked: Linked, node: Node, hardware: Hardware) -> Diagnostic:
    lacking = f": it lacks the group {MEMORY_GROUP}"
    if isinstance(node, OpcodeCount):
        lacking = suggestion(node.opcode, hardware.operations)
    what = node.opcode if isinstance(node, OpcodeCount) else MEMORY_GROUP
    return linked.object.source.fault(node.at, f"hardware {hardware.name} gives no cost of {what}{lacking}")


# ── What an application does on many numbers of hosts at once.


def program(
    root: Linked,
    hardware: Hardware,
    hosts: Indices,
    initial: Sequence[Mapping[str, scalar_frame.ScalarValue]],
    steps: int,
) -> list[Steps]:
    """Return what an application does on all numbers of hosts, as segments in order.

    Args:
        root: the application.
        hardware: whose costs are used.
        hosts: numbers of hosts, shape (counts,); not empty. Their processors are numbered through.
        initial: variables of the application before `init`, for each of them.
        steps: as for `cosched.evaluation.profile`; a step that is recorded takes ten of them.

    Raises:
        UnbatchableError: the model is not for evaluation side by side, or has a fault.
    """
    batch = InterpreterState(_analysis(root), sites(root), hardware, hosts, steps // 10)
    with np.errstate(all="ignore"):  # what is not finite is looked for
        return batch.run(root, _stacked_values(initial), hosts, batch.offset)


@lru_cache(maxsize=64)
def _analysis(root: Linked) -> LoopAnalysis:  # noqa: ARG001  the key: it keeps the statements alive that are known by identity
    return LoopAnalysis()


def _stacked_values(initial: Sequence[Mapping[str, scalar_frame.ScalarValue]]) -> dict[str, LaneValue]:
    if any(values.keys() != initial[0].keys() for values in initial):
        raise UnbatchableError
    stacked: dict[str, LaneValue] = {}
    for name, first in initial[0].items():
        column = [values[name] for values in initial]
        if all(value == first for value in column):
            # A list is read by no array expression: whoever uses it goes the other way.
            stacked[name] = None if isinstance(first, tuple) else first
        else:
            try:
                stacked[name] = np.array(column, np.float64)
            except (TypeError, ValueError):
                raise UnbatchableError from None
    return stacked
