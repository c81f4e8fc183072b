"""A user's own MPI program goes from its source to a task with a deadline and a range, by the page's commands.

What every manager shows. Times are not judged: the machine may be busy.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.cli.main import run
from cosched.measurement.programs.records import read_records
from tests.testbed.software import mpi_compiler

if TYPE_CHECKING:
    import pytest

    from cosched.client import Client
    from tests.testbed.forked.nursery import QuickSite

__all__ = ["from_source_to_task"]

SIZES = [(n, steps) for n in (300, 600) for steps in (10, 20)]


def from_source_to_task(
    site: QuickSite, client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], hardware: Path
) -> None:
    """Compile, observe by tasks, fit, validate and submit.

    Args:
        site: with two hosts at least.
        client: of its daemon.
        monkeypatch: for the environment and the folder.
        capsys: for what commands print.
        hardware: the measured resource model of its hosts.
    """
    folder = _folder(site)
    needs = mpi_compiler.environment(folder, crowded=True)
    for name, value in needs.items():
        monkeypatch.setenv(name, value)
    if site.connector == "slurm":
        needs["OMPI_MCA_btl"] = "tcp,self"  # its nodes are all of this machine
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("COSCHED_SERVER", site.server)
    monkeypatch.chdir(folder)
    source = Path(__file__).with_name("jacobi.c")
    subprocess.run(["mpicc", "-O2", "-o", "jacobi", str(source), "-lm"], check=True)
    (folder / hardware.name).write_text(hardware.read_text())
    started = ["--mpi", "openmpi", *(word for pair in needs.items() for word in ("--env", "=".join(pair)))]

    def said(*words: str) -> str:
        capsys.readouterr()
        code = run(words)
        out, err = capsys.readouterr()
        assert code == 0, (words, out, err)
        return out

    (folder / "sizes").write_text("".join(f"{n} {steps}\n" for n, steps in SIZES))
    watched = ("task", "submit", "--observe", "--from", "sizes", *started)
    for hosts in ("1", "2"):
        said(*watched, "--hosts", hosts, "--", "./jacobi")
    tasks = [task.id for task in client.tasks(limit=2 * len(SIZES)).tasks]
    said("task", "wait", *tasks, "--timeout", "5m")
    found = said(*("model", "observe", "--collect", "observed", "--numbers", "n,steps", "--class", hardware.stem))
    assert found.endswith(f"added {2 * len(SIZES)} records to runs.jsonl\n"), found
    records = read_records(Path("runs.jsonl").read_text(), "runs.jsonl")
    assert sorted((each.processors, each.hosts, *each.parameters.values()) for each in records) == [
        (hosts, hosts, *map(float, size)) for hosts in (1, 2) for size in SIZES
    ]
    for each in records:
        steps = int(each.parameters["steps"])
        assert (each.application, each.hardware, each.shim, each.calls) == ("jacobi", hardware.stem, True, 3 * steps)
        assert each.loops == f"{steps}*(sendrecv sendrecv#2 allreduce)"
        row = 8 * (each.parameters["n"] + 2)
        sent = {(message.kind, message.peer): (message.bytes, message.count) for message in each.messages}
        rows = {} if each.processors == 1 else {("sendrecv", "-1"): (row, steps)}
        assert sent.items() >= {("allreduce", "all"): (8.0, steps), **rows}.items()
        assert 0 < each.startup < 600
    took = sum(task.actual or 0.0 for task in map(client.task, tasks))
    assert sum(each.wall + each.startup for each in records) > 0.999 * took  # what the manager needs, too
    said("model", "fit", "jacobi", "runs.jsonl", "--disturbed")
    judged = json.loads(said("model", "validate", "jacobi.psl", "--records", "runs.jsonl", "--disturbed", "--json"))
    assert sum(split["runs"] for split in judged["splits"]) >= len(SIZES)
    numbers = ("--set", "n=800", "--set", "steps=30")
    wanted = ("--model", "jacobi.psl", *numbers, *started, "--hosts", "1-2", "--deadline", "now+1h")
    task = json.loads(said("task", "submit", *wanted, "--json", "--", "./jacobi", "800", "30"))
    said("task", "wait", task["id"], "--timeout", "5m")
    shown = client.task(task["id"])
    assert shown.state == "completed", shown
    assert shown.profile is not None
    assert shown.profile.source == "model"
    for low, seconds, high in zip(
        shown.profile.low or (), shown.profile.seconds, shown.profile.high or (), strict=True
    ):
        assert low is not None
        assert high is not None
        assert seconds is not None
        assert 0 < low < seconds < high
    assert said("task", "out", task["id"]).startswith(f"800 x 800, 30 steps on {len(shown.hosts)}: changes by ")


def _folder(site: QuickSite) -> Path:
    """Return a folder that the pool's own user may write to, who is another one than the tests' under root."""
    pool = site.pool if site.connector == "condor" else None
    folder = Path(site.folder if pool is None else pool.spool) / "mine"
    for each in (folder, folder / "observed"):
        each.mkdir()
        each.chmod(0o1777)
    return folder
