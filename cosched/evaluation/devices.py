"""Steps compiled: each use of a device becomes operations of the processors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.evaluation.faults import fail
from cosched.language.names import DEVICES

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation.expressions import Expressions
    from cosched.evaluation.frame import Block, Frame
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.places import Places
    from cosched.language.source import Source
    from cosched.language.syntax import Confdev, Position, Step

__all__ = ["compile_step"]

# Making an operation costs more memory than repeating one, and the budget bounds memory as well.
_NEW_OPERATION = 10


def compile_step(step: Step, expressions: Expressions, hardware: Hardware, places: Places) -> Block:
    """Compile a step to a closure that hands its operations to the recorder."""
    device = DEVICES[step.device]
    if not device.group:
        uses = [_cpu(step, confdev, expressions, places.number(confdev)) for confdev in step.confdevs]
    else:
        source = expressions.source
        if device.group not in hardware.messages:
            fail(source, step.at, f"hardware {hardware.name} gives no costs of {device.group} messages")
        uses = [_message(confdev, expressions, device.sends, places.number(confdev)) for confdev in step.confdevs]
    if len(uses) == 1:
        return uses[0]

    def several(frame: Frame) -> None:
        for use in uses:
            use(frame)

    return several


def _cpu(step: Step, confdev: Confdev, expressions: Expressions, place: int) -> Callable[[Frame], None]:
    source, at = expressions.source, step.at
    time = expressions.number(confdev.values[0])
    on = None if step.on is None else expressions.number(step.on)

    def cpu(frame: Frame) -> None:
        run, cost = frame.run, time(frame)
        if not 0 <= cost < math.inf:
            fail(source, confdev.at, f"a time of {cost:g} us: it must be finite and not negative")
        if on is None:
            processors = range(run.processors)
        else:
            processor = _processor(on(frame), run.processors, source, at)
            if processor is None:
                fail(source, at, "processor 0 stands for no processor: it cannot compute")
            processors = range(processor, processor + 1)
        run.budget.spend(_NEW_OPERATION * len(processors), source, at)
        run.recorder.compute(processors, cost, place)

    return cpu


def _message(confdev: Confdev, expressions: Expressions, sends: bool, place: int) -> Callable[[Frame], None]:
    source, at = expressions.source, confdev.at
    origin, destination, length = (expressions.number(value) for value in confdev.values)

    def message(frame: Frame) -> None:
        run, size = frame.run, length(frame)
        sender = _processor(origin(frame), run.processors, source, at)
        receiver = _processor(destination(frame), run.processors, source, at)
        if not 0 <= size < math.inf:
            fail(source, at, f"a message of {size:g} bytes: the size must be finite and not negative")
        run.budget.spend(_NEW_OPERATION, source, at)
        if sender is None or receiver is None:
            return
        if sends:
            run.recorder.send(sender, receiver, size, place)
        else:
            run.recorder.receive(sender, receiver, size, place)

    return message


def _processor(value: float, processors: int, source: Source, at: Position) -> int | None:
    """Return a processor counted from 0, or None for 0: no neighbour."""
    if not 0 <= value <= processors or value != int(value):
        fail(source, at, f"processor {value:g} does not exist: they are numbered 1 to {processors}")
    return int(value) - 1 if value else None
