"""Predictions for numbers of hosts and ranges of parameters in one call, as arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import Application, load, parameter_values
from cosched.evaluation.budget import CountError
from cosched.evaluation.engine import profile
from cosched.evaluation.hardware import Hardware, load_hardware
from cosched.evaluation.report.uncertainty import error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Prediction", "PredictionCurve", "predict"]

_MOST_POINTS = 1_000_000


class PredictionCurve(NamedTuple):
    """Run times by host count, shape (counts,), for one choice of the swept parameters."""

    values: dict[str, float]
    seconds: Floats
    low: Floats | None
    high: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Predicted run times.

    Attributes:
        application: its name.
        hardware: its name.
        hosts: numbers of hosts, shape (counts,).
        parameters: values of the parameters that are not swept; None where one has no value of its own.
        swept: values of the parameters that are, in the order given; empty without a sweep.
        seconds: expected run time, shape (*lengths of `swept`, counts); infinite where a number cannot be used.
        low: times that one run in twenty stays below; None if the model states no error.
        high: times that one run in twenty exceeds; None together with `low`.
    """

    application: str
    hardware: str
    hosts: NDArray[np.int64]
    parameters: dict[str, float | None]
    swept: dict[str, Floats]
    seconds: Floats
    low: Floats | None = None
    high: Floats | None = None

    def curves(self) -> Iterator[PredictionCurve]:
        """Yield the run times of each combination of swept values, the last parameter changing fastest."""
        for place in np.ndindex(self.seconds.shape[:-1]):
            columns = zip(self.swept.items(), place, strict=True)
            values = {name: float(column[index]) for (name, column), index in columns}
            low, high = (None if end is None else end[place] for end in (self.low, self.high))
            yield PredictionCurve(values, self.seconds[place], low, high)


def predict(
    application: Application | str | Path,
    hardware: Hardware | str | Path | None = None,
    hosts: Sequence[int] = range(1, 17),
    parameters: Mapping[str, float | Sequence[float] | Floats] | None = None,
    *,
    steps: int | None = None,
) -> Prediction:
    """Return the predicted run time for each number of hosts and each combination of parameters.

    Args:
        application: from `load`, or its name in the library, or a path to a .psl file.
        hardware: likewise; what the application names in its option `hrduse` where None.
        hosts: numbers of hosts, each at least 1.
        parameters: values of the application's parameters; several values sweep a parameter. Defaults for the others.
        steps: most work that each combination may be, see `profile`.

    Raises:
        UserError: a name, a parameter or a number of hosts that makes no sense; or too many combinations.
        ModelError: the model cannot be evaluated; or it covers none of the numbers of hosts in any combination.
    """
    model = application if isinstance(application, Application) else load(application)
    beside = Path(model.file).parent
    machine = hardware if isinstance(hardware, Hardware) else load_hardware(hardware or _named(model), beside=beside)
    given = dict(parameters or {})
    swept = {name: np.atleast_1d(np.asarray(value, np.float64)) for name, value in given.items() if np.ndim(value)}
    fixed = {name: float(value) for name, value in given.items() if isinstance(value, int | float | np.number)}
    shape = tuple(len(values) for values in swept.values())
    if math.prod((*shape, len(hosts))) > _MOST_POINTS or not math.prod((*shape, len(hosts))):
        raise UserError(f"{math.prod((*shape, len(hosts)))} predictions at once: ask for 1 to {_MOST_POINTS}")
    seconds, ends = _every(model, machine, hosts, fixed, swept, steps)
    seconds = seconds.reshape(*shape, len(hosts))
    low, high = (None, None) if ends is None else (end.reshape(seconds.shape) for end in ends)
    known = parameter_values(model, fixed, swept)
    return Prediction(model.name, machine.name, np.array(hosts, np.int64), known, swept, seconds, low, high)


def _every(
    model: Application,
    machine: Hardware,
    hosts: Sequence[int],
    fixed: Mapping[str, float],
    swept: Mapping[str, Floats],
    steps: int | None,
) -> tuple[Floats, tuple[Floats, Floats] | None]:
    """Return run times, expected and with their ends, of every combination, shape (combinations, counts)."""
    seconds, ends = [], []
    uncovered: CountError | None = None
    for values in product(*(column.tolist() for column in swept.values())):
        given = {**fixed, **dict(zip(swept, values, strict=True))}
        try:
            seconds.append(profile(model, machine, hosts, given, steps=steps))
        except CountError as fault:
            uncovered = fault
            seconds.append(np.full(len(hosts), math.inf))
        stated = error(model, machine, hosts, given)
        if stated is not None:
            ends.append(stated.around(seconds[-1]))
    found = np.array(seconds)
    if uncovered is not None and not np.isfinite(found).any():
        raise uncovered
    return found, (np.array([low for low, _ in ends]), np.array([high for _, high in ends])) if ends else None


def _named(model: Application) -> str:
    if not model.hardware:
        raise UserError(f"{model.name} names no hardware in its option hrduse: give one")
    return model.hardware
