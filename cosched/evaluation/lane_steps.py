"""Steps on lanes: each use of a device becomes a step of a processor of each lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.lanes import UnbatchableError, spread
from cosched.evaluation.steps import COMPUTE, RECEIVE, SEND
from cosched.language.names import DEVICES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.evaluation.lane_procedures import LaneProcedure
    from cosched.language.names import Device
    from cosched.language.syntax import Expression, Step

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["emit"]


def emit(procedure: LaneProcedure, statement: Step) -> None:
    """Hand the steps of a statement to the collector.

    Raises:
        UnbatchableError: a processor that does not exist, a time or a size that cannot be, a device without costs.
    """
    device = DEVICES[statement.device]
    for confdev in statement.confdevs:
        *ends, last = confdev.values
        place = procedure.batch.places.number(confdev)
        amount = None if id(confdev) in procedure.evaluation.outline.free else _every(procedure, last)
        if amount is not None and amount.min() < 0:
            raise UnbatchableError
        if device.group:
            _message(procedure, device, place, _every(procedure, ends[0]), _every(procedure, ends[1]), amount)
        else:
            _compute(procedure, amount, statement.on, place)


def _every(procedure: LaneProcedure, expression: Expression) -> Floats:
    return spread(procedure.number(expression), procedure.lanes.size)


def _compute(procedure: LaneProcedure, time: Floats | None, on: Expression | None, place: int) -> None:
    lanes = procedure.lanes
    if on is None:
        lanes.everywhere(time, place)
        return
    processor = lanes.processors(_every(procedure, on))
    if not processor.all():
        raise UnbatchableError
    lanes.step(COMPUTE, None, processor, processor, time, place)


def _message(
    procedure: LaneProcedure, device: Device, place: int, source: Floats, destination: Floats, size: Floats | None
) -> None:
    lanes = procedure.lanes
    if device.group not in procedure.batch.hardware.messages:
        raise UnbatchableError
    sender, receiver = lanes.processors(source), lanes.processors(destination)
    chosen = None
    if not (sender.all() and receiver.all()):
        chosen = np.flatnonzero((sender > 0) & (receiver > 0))
        sender, receiver = sender[chosen], receiver[chosen]
        size = None if size is None else size[chosen]
    if device.sends:
        lanes.step(SEND, chosen, sender, receiver, size, place)
    else:
        lanes.step(RECEIVE, chosen, receiver, sender, size, place)
