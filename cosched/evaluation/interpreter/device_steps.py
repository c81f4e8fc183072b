"""Steps compiled: each use of a device becomes operations of the processors of each lane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.budget import LanesDifferError, fail
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND
from cosched.evaluation.interpreter.lanes import as_lanes
from cosched.language.vocabulary import DEVICES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.expressions import Expressions
    from cosched.evaluation.interpreter.frame import CompiledBlock, Floats, Frame, LaneNumber
    from cosched.evaluation.sites import Sites
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Confdev, Position, Step

__all__ = ["StepCompiler"]

# Making an operation costs more memory than repeating one, and the budget bounds memory as well.
_NEW_OPERATION = 10


class StepCompiler:
    """Compiles the steps of one procedure to closures that hand their operations to the collector.

    Args:
        expressions: expressions of the procedure.
        hardware: gives the costs of messages.
        sites: numbers the steps.
        deferred: uses of devices, by identity, whose amount is filled in later where loops are expanded.
    """

    def __init__(self, expressions: Expressions, hardware: Hardware, sites: Sites, deferred: Collection[int]) -> None:
        self._expressions = expressions
        self._hardware = hardware
        self._sites = sites
        self._deferred = deferred

    def step(self, step: Step) -> CompiledBlock:
        """Compile a step."""
        device = DEVICES[step.device]
        if not device.group:
            uses = [self._cpu(step, confdev) for confdev in step.confdevs]
        else:
            if device.group not in self._hardware.messages:
                message = f"hardware {self._hardware.name} gives no costs of {device.group} messages"
                fail(self._expressions.source, step.at, message)
            uses = [self._message(confdev, sends=device.sends) for confdev in step.confdevs]
        if len(uses) == 1:
            return uses[0]

        def several(frame: Frame) -> None:
            for use in uses:
                use(frame)

        return several

    def _cpu(self, step: Step, confdev: Confdev) -> Callable[[Frame], None]:
        source, at, place = self._expressions.source, step.at, self._sites.number(confdev)
        time, deferred = self._expressions.number(confdev.values[0]), id(confdev) in self._deferred
        on = None if step.on is None else self._expressions.number(step.on)

        def cpu(frame: Frame) -> None:
            run, lanes = frame.run, frame.lanes
            later = deferred and run.expand
            if later or not lanes.single:
                amount = None if later else _amount(time(frame), lanes.size)
                if on is None:
                    lanes.everywhere(amount, place)
                    return
                processor = lanes.processors(as_lanes(on(frame), lanes.size))
                if not processor.all():
                    raise LanesDifferError
                lanes.step(COMPUTE, None, processor, processor, amount, place)
                return
            cost = cast("float", time(frame))
            if not 0 <= cost < math.inf:
                fail(source, confdev.at, f"a time of {cost:g} us: it must be finite and not negative")
            if on is None:
                processors = range(run.processors)
            else:
                only = _processor(on(frame), run.processors, source, at)
                if only is None:
                    fail(source, at, "processor 0 stands for no processor: it cannot compute")
                processors = range(only, only + 1)
            run.budget.spend(_NEW_OPERATION * len(processors), source, at)
            lanes.collector.pending.extend((COMPUTE, number, number, cost, place) for number in processors)

        return cpu

    def _message(self, confdev: Confdev, *, sends: bool) -> Callable[[Frame], None]:
        source, at, place = self._expressions.source, confdev.at, self._sites.number(confdev)
        origin, destination, length = (self._expressions.number(value) for value in confdev.values)
        deferred = id(confdev) in self._deferred

        def message(frame: Frame) -> None:
            run, lanes = frame.run, frame.lanes
            later = deferred and run.expand
            if later or not lanes.single:
                amount = None if later else _amount(length(frame), lanes.size)
                sender = lanes.processors(as_lanes(origin(frame), lanes.size))
                receiver = lanes.processors(as_lanes(destination(frame), lanes.size))
                chosen = None
                if not (sender.all() and receiver.all()):
                    chosen = np.flatnonzero((sender > 0) & (receiver > 0))
                    sender, receiver = sender[chosen], receiver[chosen]
                    amount = None if amount is None else amount[chosen]
                if sends:
                    lanes.step(SEND, chosen, sender, receiver, amount, place)
                else:
                    lanes.step(RECEIVE, chosen, receiver, sender, amount, place)
                return
            size = cast("float", length(frame))
            first = _processor(origin(frame), run.processors, source, at)
            last = _processor(destination(frame), run.processors, source, at)
            if not 0 <= size < math.inf:
                fail(source, at, f"a message of {size:g} bytes: the size must be finite and not negative")
            run.budget.spend(_NEW_OPERATION, source, at)
            if first is None or last is None:
                return
            row = (SEND, first, last, size, place) if sends else (RECEIVE, last, first, size, place)
            lanes.collector.pending.append(row)

        return message


def _amount(value: LaneNumber, size: int) -> Floats:
    amount = as_lanes(value, size)
    if not (amount.min() >= 0 and amount.max() < math.inf):
        raise LanesDifferError
    return amount


def _processor(value: LaneNumber, processors: int, source: Source, at: Position) -> int | None:
    """Return a processor of a single lane, counted from 0; None for no neighbour.

    A value of 0 stands for no neighbour.
    """
    if not 0 <= value <= processors or value != int(value):
        fail(source, at, f"processor {value:g} does not exist: they are numbered 1 to {processors}")
    return int(value) - 1 if value else None
