"""cosched: a predictive co-scheduler that runs beside HTCondor and Slurm and schedules towards deadlines.

The house, from top to bottom (imports never point up): `language`, `evaluation`, `prediction`, `scheduling`,
`connector`, `coscheduler`, `store`, `portal`, `simulation`, `service`, `cli`. ARCHITECTURE.md is the guide.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.client import Client
    from cosched.evaluation import load, predict
    from cosched.language import check_files as check

__all__ = ["Client", "__version__", "check", "load", "predict"]

__version__ = "0.1.0"


_LATE = {
    "Client": ("cosched.client", "Client"),
    "check": ("cosched.language", "check_files"),
    "load": ("cosched.evaluation", "load"),
    "predict": ("cosched.evaluation", "predict"),
}


def __getattr__(name: str) -> object:
    # Late: most of what imports cosched needs neither an HTTP client nor models.
    if name in _LATE:
        module, known_as = _LATE[name]
        return getattr(import_module(module), known_as)
    raise AttributeError(f"module 'cosched' has no attribute {name!r}")
