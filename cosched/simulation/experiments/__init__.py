"""The papers' experiments, a module each; a new one is entered in `NAMES`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from cosched.simulation.experiment import Experiment

__all__ = ["NAMES", "experiment"]

NAMES = (
    "titan-table-1",
    "amm-figures",
    "milan-figure-5",
    "milan-figures-7-10",
    "wrong-predictions",
    "titan-table-2",
    "grid-policies",
    "grid-faults",
    "grid-scale",
)


def experiment(name: str) -> Experiment:
    """Return an experiment.

    Raises:
        UserError: there is none of that name.
    """
    if name not in NAMES:
        raise UserError(f"no experiment is called {name!r}: there are {', '.join(NAMES)}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    found: Experiment = module.EXPERIMENT
    return found
