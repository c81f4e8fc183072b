"""Hosts are measured by tasks: what every manager shows. What is measured is not judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.cli.main import run
from cosched.evaluation import load_hardware
from cosched.language import check_files
from cosched.measurement.writing import read_samples
from tests.testbed.software.compiler import compiler

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from cosched.client import Client
    from tests.testbed.forked.nursery import QuickSite

__all__ = ["measure_two_hosts"]


def measure_two_hosts(site: QuickSite, client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Measure the last two hosts of a site and their network, and see that no reservation stays; return the file."""
    monkeypatch.setattr("cosched.cli.hardware.jobs._LIMIT", 250.0)  # a busy machine compiles for more than a minute
    monkeypatch.setattr("cosched.cli.hardware._QUICK_SECONDS", 0.0)  # each program runs once: no time is judged
    hosts = [host.name for host in client.hosts()][-2:]
    words = ["--hosts", ",".join(hosts), "--quick", "--json", "--folder", str(folder)]
    compiled = ["--cc", compiler(), "--cflags", "-O0"]  # to optimise is most of a compiler's work
    assert run(["hardware", "measure", "kind_a", *words, *compiled, "--server", site.server]) == 0
    file = folder / "kind_a.hmcl"
    assert check_files([file]) == []
    assert {"mpi", "pvm", "shm"} == load_hardware(file).messages.keys()
    text = file.read_text()
    assert f'Hosts = "{", ".join(hosts)}"' in text
    assert 'Built = "on the host"' in text
    facts, samples = read_samples((folder / "kind_a.samples.json").read_text(), "x")
    assert facts.between.startswith("sockets, not MPI, between ")
    assert {name.split()[0] for name in samples} == {"operation", "memory", "noise", "shm", "network"}
    assert client.reservations() == []
    tasks = client.tasks().tasks
    assert [(task.name, task.state) for task in tasks] == [("measure", "completed")] * 3
    assert [sorted(task.hosts) for task in reversed(tasks)] == [[hosts[0]], [hosts[1]], sorted(hosts)]
    return file
