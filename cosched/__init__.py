"""cosched: a predictive co-scheduler that runs beside HTCondor and Slurm and schedules towards deadlines.

The house, from top to bottom (imports never point up): `language`, `evaluation`, `prediction`, `scheduling`,
`connector`, `coscheduler`, `store`, `portal`, `simulation`, `service`, `cli`. ARCHITECTURE.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.client import Client

__all__ = ["Client", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Late: most of what imports cosched needs no HTTP client.
    if name == "Client":
        from cosched.client import Client

        return Client
    raise AttributeError(f"module 'cosched' has no attribute {name!r}")
