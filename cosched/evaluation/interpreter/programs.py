"""An application's segments of steps: on many host counts at once, or on one.

`program` carries the turns of loops out at once, and faults are without a place; `one_by_one` goes statement by
statement on one number of hosts, and faults name lines. `initial` gives the variables before `init`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import refuse_tunable
from cosched.evaluation.budget import Budget, CountError, LanesDifferError, fail
from cosched.evaluation.interpreter.frame import Frame, ObjectRun, ProgramRun
from cosched.evaluation.interpreter.objects import CompiledObject
from cosched.evaluation.layout import factors
from cosched.evaluation.sites import linked_objects, sites
from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.syntax import BlockUsage, MemoryUsage, Name, OpcodeCount, walk
from cosched.language.vocabulary import BLOCKS_GROUP, HARDWARE_OBJECT, MEMORY_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.application import Application
    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.frame import Value
    from cosched.language.linker import Linked
    from cosched.language.syntax import Node

    Indices = NDArray[np.int64]

__all__ = ["MOST_TOGETHER", "compiled_application", "initial", "initial_frame", "on_hosts", "one_by_one", "program"]


@lru_cache(maxsize=64)
def compiled_application(application: Application, hardware: Hardware) -> CompiledObject:
    """Return an application compiled with the costs of a hardware.

    Opcodes, memory and blocks without a cost are faults. The costs of blocks are those of the application's own.
    """
    refuse_tunable(application)
    own = f"{application.name}."
    blocks = {name.removeprefix(own): cost for name, cost in hardware.blocks.items() if name.startswith(own)}
    missing = [
        _without_cost(linked, node, hardware, own)
        for linked in linked_objects(application.root)
        for node, _ in walk(linked.object)
        if (isinstance(node, OpcodeCount) and node.opcode not in hardware.operations)
        or (isinstance(node, MemoryUsage) and hardware.memory is None)
        or (isinstance(node, BlockUsage) and node.name not in blocks)
    ]
    if missing:
        raise ModelError(sorted(missing))
    if blocks:
        hardware = replace(hardware, blocks=blocks)
    return CompiledObject(application.root, hardware, sites(application.root), {})


def one_by_one(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> list[Steps]:
    """Return what the application does on `count` processors, as segments in order."""
    try:
        state = initial_frame(application, item, count, given, budget)
        known = _check_count(item, state, count, late=False)
        program = item.program(state)
        if not known:
            _check_count(item, state, count, late=True)
    except RecursionError:
        raise UserError(f"{application.name}: the model is nested too deeply to be evaluated") from None
    return program


def initial(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> dict[str, Value] | None:
    """Return the application's variables before `init`, or None.

    It is None where they do not tell whether the count is covered, or where to give them their values takes steps.
    """
    try:
        state = initial_frame(application, item, count, given, budget)
        if state.lanes.collector.pending or not _check_count(item, state, count, late=False):
            return None
        return state.values
    except (UserError, RecursionError):
        return None


def initial_frame(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> Frame:
    """Return the application's variables before `init` on a number of processors."""
    values: dict[str, Value] = {**_decomposed(application, count, given), **given}
    run = ObjectRun(ProgramRun(budget, sys.maxsize, expand=False), np.array([count]), np.array([0]))
    return item.start(run, values)


def _check_count(item: CompiledObject, frame: Frame, count: int, *, late: bool) -> bool:
    """Refuse a count other than the one linked into the hardware; return whether known.

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


def _without_cost(linked: Linked, node: Node, hardware: Hardware, own: str) -> Diagnostic:
    if isinstance(node, BlockUsage):
        name = f"{own}{node.name}"
        near = suggestion(name, hardware.blocks) or f": give {name} = a time in its group {BLOCKS_GROUP}"
        return linked.object.source.fault(node.at, f"hardware {hardware.name} gives no cost of block {name}{near}")
    lacking = f": it lacks the group {MEMORY_GROUP}"
    if isinstance(node, OpcodeCount):
        lacking = suggestion(node.opcode, hardware.operations)
    what = node.opcode if isinstance(node, OpcodeCount) else MEMORY_GROUP
    return linked.object.source.fault(node.at, f"hardware {hardware.name} gives no cost of {what}{lacking}")


MOST_TOGETHER = 400_000
"""Steps above which a model is likely not to end, or is quicker one number of hosts at a time; less than a second."""


def program(
    application: Application,
    hardware: Hardware,
    hosts: Indices,
    initial: Sequence[Mapping[str, Value]],
    steps: int,
) -> list[Steps]:
    """Return an application's steps on all host counts, as segments in order.

    Args:
        application: as given.
        hardware: the hardware whose costs are used.
        hosts: numbers of hosts, shape (counts,); not empty. Their processors are numbered through.
        initial: variables of the application before `init`, for each of them.
        steps: as for `cosched.evaluation.profile`; a step that is recorded takes ten of them.

    Raises:
        LanesDifferError: some numbers of hosts cannot go on with the others, or the model has a fault on one.
    """
    item = compiled_application(application, hardware)
    whole = ProgramRun(Budget(MOST_TOGETHER), steps // 10, expand=True)
    run = ObjectRun(whole, hosts, np.cumsum(hosts) - hosts)
    try:
        with np.errstate(all="ignore"):  # what is not finite is looked for
            return item.program(Frame(_stacked_values(initial), {}, run, run.lanes))
    except (ModelError, RecursionError):
        raise LanesDifferError from None


def _stacked_values(initial: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    if any(values.keys() != initial[0].keys() for values in initial):
        raise LanesDifferError
    stacked: dict[str, Value] = {}
    for name, first in initial[0].items():
        column = [values[name] for values in initial]
        if all(value == first for value in column):
            stacked[name] = first
        elif all(isinstance(value, float) for value in column):
            stacked[name] = np.array(column, np.float64)
        else:
            raise LanesDifferError
    return stacked
