"""Run times of the stages of a tunable application: those that ask for the prediction of a subtask."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cosched.evaluation.application import Application
from cosched.evaluation.engine import profile
from cosched.language.linker import Linked
from cosched.language.syntax import Call, Procedure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cosched.evaluation.hardware import Hardware

__all__ = ["stage_profile"]


def stage_profile(
    application: Application, hardware: Hardware, name: str, hosts: Sequence[int], values: Mapping[str, float]
) -> NDArray[np.float64]:
    """Return how long one call of an included object takes on each number of hosts, without what `init` does before.

    Args:
        application: a tunable application.
        hardware: whose costs its work has.
        name: an object that the application includes.
        hosts: numbers of hosts, as in `profile`.
        values: of the application's parameters and of the control parameters that are set by then.

    Returns:
        Shape (len(hosts),), seconds; infinite where the model does not cover that number of hosts.

    Raises:
        UserError: as `profile`.
    """
    return profile(_calling(application, name), hardware, hosts, values)


@lru_cache(maxsize=64)
def _calling(application: Application, name: str) -> Application:
    """Return the application that calls an object once, with control parameters as ordinary ones."""
    item = application.root.object
    init = Procedure(item.at, "exec", "init", (), (Call(item.at, name, None),))
    kept = [other for other in item.procedures if other.kind != "tunable" and other.name != "init"]
    variables = tuple(replace(group, type="numeric") if group.type == "control" else group for group in item.variables)
    calling = replace(item, variables=variables, procedures=(init, *kept))
    return Application(application.name, application.file, Linked(calling, application.root.includes))
