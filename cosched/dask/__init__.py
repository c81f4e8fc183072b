"""Dask on hosts that come and go: an elastic task whose lead is a Dask scheduler and whose workers are Dask's.

Start at `lead`, which a task of `cosched task submit --dask SCRIPT` runs; `CoschedCluster` is for notebooks. It needs
the extra `cosched[dask]`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.dask.cluster import CoschedCluster

__all__ = ["CoschedCluster"]


def __getattr__(name: str) -> object:
    """Load the cluster when it is first used: workers, which need only their own module, start the sooner."""
    if name != "CoschedCluster":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("distributed") is None:
        raise ImportError(f"{sys.executable} has no Dask: pip install 'cosched[dask]'", name="distributed")
    from cosched.dask.cluster import CoschedCluster

    return CoschedCluster
