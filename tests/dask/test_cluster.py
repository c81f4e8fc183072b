from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from distributed import Client as DaskClient

from cosched.dask import CoschedCluster
from cosched.errors import UserError
from tests.testbed.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 240.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a cluster needs hosts"),
        ({"hosts": "2-8"}, "say how long it takes"),
        ({"hosts": "2-8", "lasts": "1h", "runtime": "2:60m"}, "not by both"),
        ({"hosts": "many", "lasts": "1h"}, "hosts is 'many'"),
        ({"hosts": "8-2", "lasts": "1h"}, "hosts is '8-2'"),
        ({"hosts": "2-8", "lasts": "long"}, "long"),
    ],
)
def test_what_cannot_be_a_cluster_says_what_would_do(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(UserError, match=message):
        CoschedCluster(**arguments)


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_a_notebooks_cluster_grows_by_wishes_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"elastic": {"settle": "1s", "payback": 0.0, "grace": "5m"}}
    with QuickSite("local", scale=1.0, hosts=4, settings=settings) as site, site.client() as client:
        monkeypatch.setenv("COSCHED_SERVER", site.server)
        with CoschedCluster(hosts="1-4", runtime="1:10m,2:9m,3:8m,4:7m", name="notebook") as cluster:
            task = cluster.task
            assert client.task(task).name == "notebook"
            with DaskClient(cluster) as dask:
                assert dask.submit(sum, [1, 2, 3]).result(_PATIENCE) == 6
                cluster.scale(4)
                _until(lambda: len(client.workers(task).workers) >= 3)
                assert dask.gather(dask.map(abs, range(-20, 0))) == list(range(20, 0, -1))
        ended = client.wait([task], _PATIENCE)[0]
        assert (ended.state, ended.exit_code) == ("completed", 0)


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < until, "it does not come about"
        time.sleep(0.2)
