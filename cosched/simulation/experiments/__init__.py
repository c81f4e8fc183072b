"""The papers' experiments and our own, a module each; of papers with several, in a folder of their own.

To add one, write a module with a constant `EXPERIMENT` and enter its name in `EXPERIMENT_NAMES` ("-" for "_").
`milan-mixed` is `milan/mixed.py`, `grid-scale` is `grid_scale.py`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from cosched.simulation.experiment import Experiment

__all__ = ["EXPERIMENT_NAMES", "load_experiment"]

_PAPERS = ("milan", "harvest")

EXPERIMENT_NAMES = (
    "titan-table-1",
    "amm-figures",
    "milan-figure-5",
    "milan-figures-7-10",
    "milan-mixed",
    "wrong-predictions",
    "titan-table-2",
    "grid-policies",
    "grid-faults",
    "grid-scale",
    "shares",
    "contention",
    "harvest-figure-4",
    "harvest-figure-6",
    "harvest-figures-7-9",
    "satin-figure-2",
    "malleable-replay",
    "mixed-plan",
    "ghs-completion",
    "ghs-trigger",
)


def load_experiment(name: str) -> Experiment:
    """Return an experiment.

    Raises:
        UserError: there is none of that name.
    """
    if name not in EXPERIMENT_NAMES:
        raise UserError(f"no experiment is called {name!r}: there are {', '.join(EXPERIMENT_NAMES)}")
    paper, _, rest = name.partition("-")
    path = f"{paper}.{rest}" if paper in _PAPERS else name
    module = importlib.import_module(f"{__name__}.{path.replace('-', '_')}")
    found: Experiment = module.EXPERIMENT
    return found
