"""Commands of elastic tasks that are Dask clusters: `cosched.dask` has what they run, this needs no Dask itself."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["dask_command", "dask_worker_command"]


def dask_command(script: Path | None, arguments: Sequence[str], python: str = sys.executable) -> tuple[str, ...]:
    """Return the command of the lead, a scheduler with a script; all hosts must have its Python.

    Args:
        script: a Python program; None for a cluster that is used from elsewhere.
        arguments: of the script, or the seconds without a sign of its users after which the cluster ends.
        python: with Dask and cosched; this one, if no other is named.

    Raises:
        UserError: this Python has no Dask.
    """
    if find_spec("distributed") is None:
        raise UserError(f"{sys.executable} has no Dask, here and on the hosts: pip install 'cosched[dask]'")
    what = "--serve" if script is None else str(script.absolute())
    return (python, "-m", "cosched.dask.lead", what, *arguments)


def dask_worker_command(python: str = sys.executable) -> tuple[str, ...]:
    """Return the command of each worker."""
    return (python, "-m", "cosched.dask.worker", "{lead}", "{worker}")
