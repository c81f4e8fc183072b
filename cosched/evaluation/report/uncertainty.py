"""Read the error that an application states of its run time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import checked_parameters
from cosched.evaluation.budget import DEFAULT_STEPS, Budget, CountError, fail
from cosched.evaluation.interpreter.programs import compiled_application, initial_frame, on_hosts
from cosched.evaluation.layout import TooFewHostsError, layout
from cosched.language.diagnostics import ModelError
from cosched.language.vocabulary import BLOCK_ERROR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.application import Application
    from cosched.evaluation.hardware import Hardware

__all__ = ["StatedError", "error"]

_BOTH, _BELOW, _ABOVE = "error", "error_below", "error_above"
_NORMAL = 1.645  # standard deviations within which nine of ten are
_LARGEST_BELOW = 0.999
_LIMITS = {_BOTH: 1.0, _BELOW: 1.0, _ABOVE: math.inf}


class StatedError(NamedTuple):
    """The stated error by host count: one run in twenty is below it, one above.

    Attributes:
        below: shape (counts,), each from 0 to less than 1.
        above: likewise, each at least 0.
    """

    below: NDArray[np.float64]
    above: NDArray[np.float64]

    def around(self, seconds: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the 5 % and 95 % quantiles of run times.

        Each has the shape of the expected ones.
        """
        return seconds * (1 - self.below), seconds * (1 + self.above)


def error(
    application: Application, hardware: Hardware, hosts: Sequence[int], parameters: Mapping[str, float] | None = None
) -> StatedError | None:
    """Return how far off the application says that it may be.

    Args:
        application: its options `error`, `error_below` and `error_above` may depend on its parameters and the number of
            hosts. `error` holds for either side that is not stated by itself; without it that side is certain.
        hardware: as for `profile`.
        hosts: as for `profile`.
        parameters: as for `profile`.

    Returns:
        The error by number of hosts, with the noise that the hardware states and the error of its costs of blocks; 0
        where one is not covered. None where the application says nothing.

    Raises:
        UserError: as for `profile`.
        ModelError: an option has no value in its range.
    """
    hardware = application.on_its_processors(hardware)
    stated = {name: _stated(name, application, hardware, hosts, parameters or {}) for name in _LIMITS}
    if all(values is None for values in stated.values()):
        return None
    either, below, above = stated.values()
    if either is None:
        either = np.zeros(len(hosts))
    noise = max(
        math.hypot(
            _NORMAL * math.hypot(kind.noise.get("launch", 0.0), kind.noise.get("run", 0.0)),
            kind.blocks.get(f"{application.name}.{BLOCK_ERROR}", 0.0),
        )
        for kind in hardware.classes
    )
    below, above = either if below is None else below, either if above is None else above
    if noise:
        below, above = np.minimum(np.hypot(below, noise), _LARGEST_BELOW), np.hypot(above, noise)
    return StatedError(below, above)


def _stated(
    name: str, application: Application, hardware: Hardware, hosts: Sequence[int], parameters: Mapping[str, float]
) -> NDArray[np.float64] | None:
    """Return an option's value for each number of hosts; None without the option."""
    given, item = checked_parameters(application, parameters), compiled_application(application, hardware.classes[0])
    found = item.option(name)
    if found is None:
        return None
    value, at = found
    stated: NDArray[np.float64] = np.zeros(len(hosts))
    budget = Budget(DEFAULT_STEPS * math.ceil(len(hosts) / 16))
    for index, count in enumerate(hosts):
        try:
            processors = int(layout(hardware, [count]).processors[0])
            stated[index] = value(initial_frame(application, item, processors, given, budget))
        except (CountError, TooFewHostsError):
            continue
        except ModelError as fault:
            raise on_hosts(fault, count) from None
        except RecursionError:
            raise UserError(f"{application.name}: its {name} is nested too deeply to be evaluated") from None
        if not 0 <= stated[index] < _LIMITS[name]:
            most = "at least 0" if name == _ABOVE else "0 to less than 1"
            fail(item.source, at, f"an error of {stated[index]:g} on {count} hosts: give {most}")
    return stated
