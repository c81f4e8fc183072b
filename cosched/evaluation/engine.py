"""The time of an application on a hardware and a number of hosts."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import checked
from cosched.evaluation.budget import DEFAULT_STEPS, Budget
from cosched.evaluation.decomposition import factors
from cosched.evaluation.faults import CountError, fail
from cosched.evaluation.lanes import TooManyStepsError, UnbatchableError
from cosched.evaluation.machine import Machine
from cosched.evaluation.objects import CompiledObject
from cosched.evaluation.results import Evaluation, ProcessorTime
from cosched.evaluation.run import Programs, Run
from cosched.evaluation.sidebyside import times
from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.syntax import OpcodeCount, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.application import Application
    from cosched.evaluation.frame import Frame, Value
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.steps import Segment
    from cosched.language.linker import Linked

__all__ = ["MOST_HOSTS", "error", "evaluate", "profile"]

MOST_HOSTS = 100_000
"""Most hosts one evaluation may have."""


def profile(
    application: Application,
    hardware: Hardware,
    hosts: Sequence[int],
    parameters: Mapping[str, float] | None = None,
    *,
    steps: int | None = None,
) -> NDArray[np.float64]:
    """Return the predicted run time in seconds for each number of hosts.

    Args:
        application: from `load`.
        hardware: from `load_hardware`; need not be the one that the application names.
        hosts: numbers of hosts, each at least 1, in any order.
        parameters: values of the application's parameters; defaults for the others.
        steps: most work the whole call may be, see `Budget`; by default `DEFAULT_STEPS` for every 16 numbers of hosts
            begun. A single number of hosts never gets more than `DEFAULT_STEPS`, which bounds memory.

    Returns:
        Shape (len(hosts),), seconds; infinite where the model does not cover that number of hosts.

    Raises:
        UserError: a parameter or a number of hosts that makes no sense.
        ModelError: the model cannot be evaluated; or it covers none of the numbers of hosts.
    """
    key = hosts if isinstance(hosts, range) else tuple(hosts)
    return _profile(application, hardware, key, tuple((parameters or {}).items()), steps).copy()


@lru_cache(maxsize=256)
def _profile(application: Application, hardware: Hardware, hosts: Sequence[int],
             parameters: tuple[tuple[str, float], ...], steps: int | None) -> NDArray[np.float64]:  # fmt: skip
    """Do what `profile` does; that one remembers it."""
    given = checked(application, dict(parameters))
    left = DEFAULT_STEPS * math.ceil(len(hosts) / 16) if steps is None else steps
    compiled = _compiled(application, hardware)
    seconds: NDArray[np.float64] = np.full(len(hosts), math.inf)
    unusable: CountError | None = None
    done = _side_by_side(application, compiled, hosts, given, left)
    for index, count in enumerate(hosts):
        if index in done:
            seconds[index] = done[index]
            continue
        budget = Budget(min(left, DEFAULT_STEPS))
        try:
            program = _program(application, compiled, count, given, budget)
            machine = Machine(count, budget)
            _carry_out(program, machine, count)
            seconds[index] = max(machine.clocks) / 1e6
        except CountError as error:
            unusable = unusable or error
        left -= budget.total - budget.left
    if unusable is not None and not np.isfinite(seconds).any():
        raise unusable
    return seconds


def _side_by_side(application: Application, compiled: CompiledObject, hosts: Sequence[int],
                  given: Mapping[str, float], steps: int) -> dict[int, float]:  # fmt: skip
    """Return the seconds, by index, of those numbers of hosts that can be evaluated together."""
    done: dict[int, float] = {}
    waiting = [list(range(len(hosts)))]
    while waiting:
        group = waiting.pop()
        ready = {index: values for index in group
                 if (values := _initial(application, compiled, hosts[index], given)) is not None}  # fmt: skip
        if not ready:
            continue
        try:
            found = times(application.root, compiled.hardware, [hosts[index] for index in ready],
                          list(ready.values()), steps)  # fmt: skip
        except TooManyStepsError:
            halves = group[: len(group) // 2], group[len(group) // 2 :]
            waiting += halves if len(group) > 1 else ()
        except UnbatchableError:
            break
        else:
            done.update(zip(ready, (found / 1e6).tolist(), strict=True))
    return done


def _initial(application: Application, compiled: CompiledObject, count: int,
             given: Mapping[str, float]) -> dict[str, Value] | None:  # fmt: skip
    """Return the application's variables before `init`; None where that is not enough to know the count is covered."""
    try:
        frame = _frame(application, compiled, count, given, Budget())
        return frame.values if _check_count(compiled, frame, count, late=False) else None
    except (UserError, RecursionError):
        return None


def _frame(application: Application, compiled: CompiledObject, count: int, given: Mapping[str, float],
           budget: Budget) -> Frame:  # fmt: skip
    if not 1 <= count <= MOST_HOSTS:
        raise UserError(f"{count} hosts: the number of hosts is 1 to {MOST_HOSTS}")
    values: dict[str, Value] = {**_decomposed(application, count, given), **given}
    return compiled.start(Run(Programs(budget, count)), values)


def error(application: Application, hardware: Hardware, hosts: Sequence[int],
          parameters: Mapping[str, float] | None = None) -> NDArray[np.float64] | None:  # fmt: skip
    """Return how far off the application says that it may be: nine runs in ten are within this part of the run time.

    Args:
        application: its option `error` may depend on its parameters and the number of hosts.
        hardware: as for `profile`.
        hosts: as for `profile`.
        parameters: as for `profile`.

    Returns:
        Shape (len(hosts),), each from 0 to less than 1; None where the application says nothing. 0 where a number of
        hosts is not covered.

    Raises:
        UserError: as for `profile`.
        ModelError: the option has no value in that range.
    """
    given, compiled = checked(application, parameters or {}), _compiled(application, hardware)
    found = compiled.option("error")
    if found is None:
        return None
    value, at = found
    stated: NDArray[np.float64] = np.zeros(len(hosts))
    for index, count in enumerate(hosts):
        try:
            stated[index] = value(_frame(application, compiled, count, given, Budget()))
        except CountError:
            continue
        except ModelError as fault:
            raise _on_hosts(fault, count) from None
        if not 0 <= stated[index] < 1:
            fail(compiled.source, at, f"an error of {stated[index]:g} on {count} hosts: give 0 to less than 1")
    return stated


def evaluate(application: Application, hardware: Hardware, hosts: int, parameters: Mapping[str, float] | None = None,
             *, trace: bool = False, steps: int = DEFAULT_STEPS) -> Evaluation:  # fmt: skip
    """Return the predicted run time on a number of hosts and where it goes.

    Args:
        application: from `load`.
        hardware: from `load_hardware`.
        hosts: at least 1.
        parameters: as for `profile`.
        trace: keep every step of every processor.
        steps: as for `profile`.

    Raises:
        UserError: a parameter or a number of hosts that makes no sense.
        ModelError: the model cannot be evaluated on that number of hosts.
    """
    budget = Budget(steps)
    compiled = _compiled(application, hardware)
    program = _program(application, compiled, hosts, checked(application, parameters or {}), budget)
    machine = Machine(hosts, budget, trace)
    _carry_out(program, machine, hosts)
    return _summary(program, machine)


def _carry_out(program: Sequence[Segment], machine: Machine, count: int) -> None:
    try:
        for segment in program:
            machine.carry_out(segment)
    except ModelError as error:
        raise _on_hosts(error, count) from None
    if not math.isfinite(max(machine.clocks)):
        raise UserError(f"the predicted time with hosts = {count} is not finite: some time in the model is too large")


@lru_cache(maxsize=64)
def _compiled(application: Application, hardware: Hardware) -> CompiledObject:
    missing = [_without_cost(linked, node, hardware) for linked in _closure(application.root)
               for node, _ in walk(linked.object)
               if isinstance(node, OpcodeCount) and node.opcode not in hardware.operations]  # fmt: skip
    if missing:
        raise ModelError(sorted(missing))
    return CompiledObject(application.root, hardware, {})


def _closure(root: Linked) -> Iterator[Linked]:
    seen, waiting = {root}, [root]
    while waiting:
        linked = waiting.pop()
        yield linked
        new = set(linked.includes.values()) - seen
        seen |= new
        waiting.extend(new)


def _without_cost(linked: Linked, node: OpcodeCount, hardware: Hardware) -> Diagnostic:
    near = suggestion(node.opcode, hardware.operations)
    return linked.object.source.fault(node.at, f"hardware {hardware.name} gives no cost of {node.opcode}{near}")


def _program(application: Application, compiled: CompiledObject, count: int, given: Mapping[str, float],
             budget: Budget) -> list[Segment]:  # fmt: skip
    """Return what the application does on `count` hosts, as segments in order."""
    try:
        frame = _frame(application, compiled, count, given, budget)
        known = _check_count(compiled, frame, count, late=False)
        program = compiled.run(frame)
        if not known:
            _check_count(compiled, frame, count, late=True)
    except ModelError as error:
        raise _on_hosts(error, count) from None
    except RecursionError:
        raise UserError(f"{application.name}: the model is nested too deeply to be evaluated") from None
    return program


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


def _check_count(compiled: CompiledObject, frame: Frame, count: int, *, late: bool) -> bool:
    """Refuse a count that differs from what the application links into the hardware; return whether that is known.

    Before `init` the link may lack variables that only `init` sets; then the check is repeated after it (`late`).
    """
    found = compiled.hardware_processors()
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
        message = f"the model is for {wanted} processors with these parameters: set those that Nproc is linked from"
        fail(compiled.source, at, message, CountError)
    return True


def _on_hosts(error: ModelError, count: int) -> ModelError:
    """Return the error with the number of hosts in its messages."""
    on = f" (on {count} host{'s' if count > 1 else ''})"
    diagnostics = [Diagnostic(d.file, d.line, d.column, d.message + on, d.source) for d in error.diagnostics]
    return type(error)(diagnostics)


def _summary(program: Sequence[Segment], machine: Machine) -> Evaluation:
    count = len(machine.clocks)
    compute, communication = [0.0] * count, [0.0] * count
    for segment in program:
        for processor in range(count):
            compute[processor] += segment.compute[processor]
            communication[processor] += segment.communication[processor]
    end = max(machine.clocks)
    processors = tuple(
        ProcessorTime(busy / 1e6, talk / 1e6, max(0.0, end - busy - talk) / 1e6)
        for busy, talk in zip(compute, communication, strict=True)
    )
    return Evaluation(
        seconds=end / 1e6,
        processors=processors,
        bytes_sent=sum(segment.size for segment in program),
        messages=sum(segment.messages for segment in program),
        unreceived=sum(segment.unreceived for segment in program),
        events=tuple(machine.events),
    )
