"""Have a Dask worker tell its scheduler what it fetched from whom: `--preload cosched.dask.transfers`.

Dask itself tells of a transfer with the end of one of the tasks that need its data. That task may have been done by
another worker meanwhile; then nobody hears for how long this one has waited.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from distributed import Worker
    from distributed.scheduler import WorkerState

__all__ = ["Transfer", "dask_setup", "transfers_of"]

_METRIC = "cosched-transfers"
_MOST = 100  # of a heartbeat: more than the tasks that are remembered need


class Transfer(NamedTuple):
    """Data that a worker fetched. Times are epoch seconds on the scheduler's clock."""

    source: str  # address of the worker that it came from
    begin: float
    end: float


def dask_setup(worker: Worker) -> None:
    """Have a worker tell its last transfers; Dask calls it before the worker joins its scheduler."""
    worker.metrics[_METRIC] = _last_transfers


def transfers_of(worker: WorkerState) -> list[Transfer]:
    """Return the last transfers of a worker as its scheduler knows them, the oldest first."""
    return [Transfer(*each) for each in worker.metrics.get(_METRIC, ())]


def _last_transfers(worker: Worker) -> list[tuple[str, float, float]]:
    log: list[Mapping[str, Any]] = list(islice(reversed(worker.transfer_incoming_log), _MOST))
    return [(each["who"], each["start"], each["stop"]) for each in reversed(log)]
