from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cosched.dask.transfers import Transfer, dask_setup, transfers_of


def test_a_worker_tells_its_last_transfers_and_its_scheduler_knows_them() -> None:
    log = [{"who": "tls://a", "start": float(each), "stop": each + 0.5, "total": 8} for each in range(150)]
    worker: Any = SimpleNamespace(metrics={}, transfer_incoming_log=log)
    dask_setup(worker)
    told = {name: measure(worker) for name, measure in worker.metrics.items()}
    known: Any = SimpleNamespace(metrics=told)
    assert transfers_of(known) == [Transfer("tls://a", float(each), each + 0.5) for each in range(50, 150)]


def test_a_worker_that_tells_none_has_none() -> None:
    stranger: Any = SimpleNamespace(metrics={"cpu": 2.0})
    assert transfers_of(stranger) == []
