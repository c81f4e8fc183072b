"""What an application does on a hardware and a number of hosts, statement by statement: segments of steps."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.evaluation.budget import Budget
from cosched.evaluation.decomposition import factors
from cosched.evaluation.faults import CountError, fail
from cosched.evaluation.objects import CompiledObject
from cosched.evaluation.places import objects, places
from cosched.evaluation.run import Programs, Run
from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.names import HARDWARE, MEMORY
from cosched.language.syntax import MemoryUsage, Name, OpcodeCount, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.evaluation.application import Application
    from cosched.evaluation.frame import Frame, Value
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.steps import Steps
    from cosched.language.linker import Linked
    from cosched.language.syntax import Node

__all__ = ["compiled", "frame", "initial", "on_hosts", "one_by_one"]


@lru_cache(maxsize=64)
def compiled(application: Application, hardware: Hardware) -> CompiledObject:
    """Return an application with the costs of a hardware; opcodes and memory without a cost are faults."""
    missing = [
        _without_cost(linked, node, hardware)
        for linked in objects(application.root)
        for node, _ in walk(linked.object)
        if (isinstance(node, OpcodeCount) and node.opcode not in hardware.operations)
        or (isinstance(node, MemoryUsage) and hardware.memory is None)
    ]
    if missing:
        raise ModelError(sorted(missing))
    return CompiledObject(application.root, hardware, places(application.root), {})


def one_by_one(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> list[Steps]:
    """Return what the application does on `count` processors, as segments in order."""
    try:
        state = frame(application, item, count, given, budget)
        known = _check_count(item, state, count, late=False)
        program = item.run(state)
        if not known:
            _check_count(item, state, count, late=True)
    except RecursionError:
        raise UserError(f"{application.name}: the model is nested too deeply to be evaluated") from None
    return program


def initial(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float]
) -> dict[str, Value] | None:
    """Return the application's variables before `init`; None where that is not enough to know the count is covered."""
    try:
        state = frame(application, item, count, given, Budget())
        return state.values if _check_count(item, state, count, late=False) else None
    except (UserError, RecursionError):
        return None


def frame(
    application: Application, item: CompiledObject, count: int, given: Mapping[str, float], budget: Budget
) -> Frame:
    """Return the application's variables before `init` on a number of processors."""
    values: dict[str, Value] = {**_decomposed(application, count, given), **given}
    return item.start(Run(Programs(budget, count)), values)


def _check_count(item: CompiledObject, frame: Frame, count: int, *, late: bool) -> bool:
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
            if link.target == HARDWARE
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
    lacking = f": it lacks the group {MEMORY}"
    if isinstance(node, OpcodeCount):
        lacking = suggestion(node.opcode, hardware.operations)
    what = node.opcode if isinstance(node, OpcodeCount) else MEMORY
    return linked.object.source.fault(node.at, f"hardware {hardware.name} gives no cost of {what}{lacking}")
