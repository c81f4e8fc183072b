from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from distributed import Client as DaskClient

from cosched.api.documents import TaskRequest
from cosched.dask import CoschedCluster
from cosched.errors import CoschedError, SystemFault, UserError
from tests.testbed.forked.nursery import QuickSite
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 240.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a cluster needs hosts"),
        ({"hosts": "2-8"}, "say how long it takes"),
        ({"hosts": "2-8", "lasts": "1h", "runtime": "2:60m"}, "not by both"),
        ({"hosts": "many", "lasts": "1h"}, "hosts is 'many'"),
        ({"hosts": "8-2", "lasts": "1h"}, "hosts is '8-2'"),
        ({"hosts": -2, "lasts": "1h"}, "hosts is '-2'"),
        ({"hosts": "2-8", "lasts": "long"}, "long"),
    ],
)
def test_what_cannot_be_a_cluster_says_what_would_do(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(UserError, match=message):
        CoschedCluster(**arguments)


@pytest.mark.parametrize(
    ("patience", "outcome"), [(60.0, "the cluster's certificates in /no/such/folder cannot be read"), (0.0, "away")]
)
def test_a_cluster_that_waits_for_hosts_outlasts_a_daemon_that_is_started_again(
    monkeypatch: pytest.MonkeyPatch, patience: float, outcome: str
) -> None:
    """It was given up with the first answer that did not come, and its task stayed: nobody was there to cancel it."""
    monkeypatch.setattr("cosched.dask.cluster._LOOK_AGAIN", 0.01)
    monkeypatch.setattr("cosched.dask.cluster.RESTART_PATIENCE", patience)
    said: list[str | SystemFault] = [
        "17",
        "",
        SystemFault("away"),
        SystemFault("away"),
        "tls://h:1#/no/such/folder",
        "",
    ]
    answers = iter(said)

    def ask(_cluster: CoschedCluster, _question: object) -> str:
        answer = next(answers)
        if isinstance(answer, SystemFault):
            raise answer
        return answer

    monkeypatch.setattr(CoschedCluster, "_ask", ask)
    cluster = object.__new__(CoschedCluster)  # Dask's part of it would have to be started
    with pytest.raises(CoschedError, match=outcome):
        asyncio.run(cluster._submitted(TaskRequest()))


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
                until(lambda: len(client.workers(task).workers) >= 3)
                assert dask.gather(dask.map(abs, range(-20, 0))) == list(range(20, 0, -1))
        ended = client.wait([task], _PATIENCE)[0]
        assert (ended.state, ended.exit_code) == ("completed", 0)


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_a_notebooks_cluster_gives_promised_hosts_back_and_gets_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"elastic": {"settle": "1s", "payback": 0.0, "grace": "5m"}}
    with QuickSite("local", scale=1.0, hosts=4, settings=settings) as site, site.client() as client:
        monkeypatch.setenv("COSCHED_SERVER", site.server)
        with (
            CoschedCluster(hosts="2-4", runtime="2:12m,3:8m,4:5m") as cluster,
            DaskClient(cluster) as dask,
        ):

            def hosts() -> tuple[int, int]:
                found = client.workers(cluster.task)
                lives = [each for each in found.workers if each.state not in ("cancelled", "completed", "failed")]
                return 1 + len(found.promised), 1 + len(lives)

            until(lambda: hosts() == (4, 4))
            cluster.scale(2)
            until(lambda: hosts() == (2, 2))
            until(lambda: len(dask.scheduler_info(n_workers=-1)["workers"]) == 2)
            cluster.adapt(2, 3)
            assert dask.gather(dask.map(abs, range(-20, 0))) == list(range(20, 0, -1))
            cluster.scale(4)
            until(lambda: hosts() == (2, 4))
            cluster.scale(1)  # two are the fewest that it was submitted for
            until(lambda: hosts() == (2, 2))


_UNCLOSED = """\
from cosched.api.documents import TaskRequest
from cosched.dask import CoschedCluster
print(CoschedCluster(hosts=2, lasts="10m").task)
"""


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_script_that_closes_no_cluster_leaves_none_and_finds_its_daemon_by_the_configuration(tmp_path: Path) -> None:
    with QuickSite("local", scale=1.0, hosts=2) as site, site.client() as client:
        (tmp_path / "site.toml").write_text(f'[server]\nlisten = ["{site.server}"]\n')
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COSCHED_")}
        done = subprocess.run(
            [sys.executable, "-c", _UNCLOSED],
            env=environment | {"COSCHED_CONFIG": str(tmp_path / "site.toml")},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        ended = client.wait([done.stdout.strip()], _PATIENCE)[0]
        assert (ended.state, ended.exit_code) == ("completed", 0)


@pytest.mark.daemon
def test_without_dask_it_says_what_to_install() -> None:
    hidden = (
        "import importlib.util; importlib.util.find_spec = lambda name: None; "
        "import cosched.dask; cosched.dask.CoschedCluster"
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden], capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("has no Dask: pip install 'cosched[dask]'")
