"""One program stays through the stages of a tunable application, on real managers, and has other hosts at each."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cosched
from cosched.api.documents import TaskRequest
from demo.programs import interpreter
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.software.debian import PackageError
from tests.waiting import until

if TYPE_CHECKING:
    from demo.site import Site

PACKAGE, PROGRAMS = Path(cosched.__file__).parent, Path(__file__).parents[2] / "examples" / "junctions"
_MODEL = """
application detect {
    var numeric: images = 2 in (1, 10);
    var control: granularity, distance;
    proc tunable main {
        task_loop (images) {
            task sample [] [granularity] [({1}, {4, 40 s}, 0.9), ({16}, {1, 40 s}, 1.0)];
            task_select {
                when (granularity == 1) task mark [] [distance] [({2}, {1, 40 s}, 1.0)];
                when (granularity == 16) task mark [] [distance] [({5}, {2, 40 s}, 1.0)];
            }
            task_select {
                when (granularity == 1) task examine [] [] [({}, {2, 40 s}, 1.0)];
                when (granularity == 16) task examine [] [] [({}, {3, 40 s}, 1.0)];
            }
        }
    }
}
"""


def _catalogue(site: Site) -> None:
    """Write the application, its model, its program and the little of cosched that this imports."""
    programs = site.folder / "programs"
    (programs / "cosched").mkdir(parents=True)
    for name in ("junctions.py", "one_program.py"):
        shutil.copy(PROGRAMS / name, programs / name)
    for name in ("__init__.py", "elastic_lead.py", "errors.py", "version.py"):
        shutil.copy(PACKAGE / name, programs / "cosched" / name)
    (site.folder / "detect.psl").write_text(_MODEL)
    python, variables = interpreter(site.connector)
    words = [python, str(programs / "one_program.py")]
    paths = [str(programs), *filter(None, [variables.get("PYTHONPATH", "")])]
    lines = [
        f"model = {json.dumps(str(site.folder / 'detect.psl'))}",
        f"command = {json.dumps(words)}",
        f"worker = {json.dumps([*words, '{lead}', '{worker}'])}",
        "[parameters.images]\ndefault = 2",
        "[environment]",
        *[f"{name} = {json.dumps(value)}" for name, value in {**variables, "PYTHONPATH": ":".join(paths)}.items()],
    ]
    (site.folder / "applications.d" / "detect.toml").write_text("\n".join(lines) + "\n")
    (site.folder / "images").mkdir(mode=0o777)
    (site.folder / "images").chmod(0o777)  # the pool's own user writes there


@pytest.mark.parametrize(
    "connector",
    [
        pytest.param("local", marks=pytest.mark.daemon),
        pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
        pytest.param("slurm", marks=[pytest.mark.pool, pytest.mark.xdist_group("slurm-sites")]),
    ],
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_a_program_goes_through_its_stages_and_has_the_hosts_of_each(connector: str) -> None:
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=1.0, hosts=4, prepare=_catalogue))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client = stack.enter_context(site.client())
        until(lambda: len(client.hosts()) == 4)
        request = TaskRequest(application="detect", deadline="now+1h", directory=str(site.folder / "images"))
        tasks = [task.id for task in client.submit_all([request])]
        assert len(tasks) == 6
        until(lambda: client.task(tasks[-1]).state in ("completed", "failed", "cancelled"))
        ended = [client.task(task) for task in tasks]
        errors, said = client.output(tasks[0], "err"), client.output(tasks[0], "out")
        assert [task.state for task in ended] == ["completed"] * 6, (errors, [task.reason for task in ended])
        assert [len(task.hosts) for task in ended] == [1, 2, 3] * 2
        assert len({task.hosts[0] for task in ended}) == 1, "the lead's host changed"
        assert len({task.tries[-1].job for task in ended}) == 1, "it was not one job"
        for before, after in pairwise(ended):
            assert before.finished is not None
            assert after.started is not None
            assert before.finished <= after.started
        assert said is not None
        assert "image 1: sample on 1 hosts, granularity 16" in said.data.decode()
        assert all(task.chain is not None and task.chain.guaranteed for task in ended)
