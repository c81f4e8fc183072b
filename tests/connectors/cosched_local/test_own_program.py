"""A user's own program goes from its source to a task on local slots, watched in tasks or by hand."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from cosched.cli.main import run
from cosched.measurement.writing import MeasuredMachine
from tests.connectors import own_program
from tests.connectors.own_program import from_source_to_task
from tests.measurement.makers import FACTS, made_up_samples
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.software import mpi_compiler


@pytest.mark.daemon
def test_a_program_goes_from_its_source_to_a_task_with_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = tmp_path / "node_a.hmcl"
    measured.write_text(MeasuredMachine("node_a", FACTS, made_up_samples()).hmcl())
    with QuickSite("local", scale=0.02, hosts=2) as site, site.client() as client:
        from_source_to_task(site, client, monkeypatch, capsys, measured)


@pytest.mark.daemon
@pytest.mark.slow
def test_the_five_commands_of_the_page_lead_to_a_task_with_a_deadline_and_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = mpi_compiler.environment(tmp_path, crowded=True)
    for name, value in needs.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples.json").write_text(MeasuredMachine("node_a", FACTS, made_up_samples()).samples_text())
    source = Path(own_program.__file__).with_name("jacobi.c")
    subprocess.run(["mpicc", "-O2", "-o", "jacobi", str(source), "-lm"], check=True)

    def said(line: str) -> str:
        capsys.readouterr()
        code = run(shlex.split(line))
        out, err = capsys.readouterr()
        assert code == 0, (line, out, err)
        return out

    command = "--sweep Nproc=1,2 -- mpirun -np {Nproc} ./jacobi {n} {steps}"
    said("hardware measure node_a --samples samples.json")
    sizes = "--class node_a --sweep n=300,600 --sweep steps=10,20"
    assert "of 8 sizes to runs.jsonl" in said(f"model observe --times {sizes} {command}")
    said(f"model observe --class node_a --out held.jsonl --sweep n=450 --sweep steps=15 {command}")
    said("model fit jacobi runs.jsonl --disturbed")
    judged = json.loads(said("model validate jacobi.psl held.jsonl --disturbed --json"))
    assert sum(split["runs"] for split in judged["splits"]) >= 2
    with QuickSite("local", scale=0.02, hosts=2) as site, site.client() as client:
        monkeypatch.setenv("COSCHED_SERVER", site.server)
        wanted = "--model jacobi.psl --set n=500 --set steps=30 --mpi openmpi --hosts 1-2 --deadline now+1h"
        variables = " ".join(f"--env {name}" for name in needs)
        task = json.loads(said(f"task submit --json {wanted} {variables} -- ./jacobi 500 30"))
        said(f"task wait {task['id']} --timeout 5m")
        shown = client.task(task["id"])
        assert shown.state == "completed", shown
        assert shown.profile is not None
        for low, seconds, high in zip(
            shown.profile.low or (), shown.profile.seconds, shown.profile.high or (), strict=True
        ):
            assert low is not None
            assert seconds is not None
            assert high is not None
            assert 0 < low < seconds < high
