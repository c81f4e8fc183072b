"""Programs of MPI in Fortran and Python are watched as those in C are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosched.measurement.programs.observing import observed
from tests.testbed.software import mpi, mpi4py, mpi_compiler
from tests.testbed.software.compiler import compiler

pytestmark = pytest.mark.daemon


RING = Path(__file__).with_name("ring.f90")
SCRIPT = """import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
numbers, steps = map(int, sys.argv[1:])
data = array("d", [world.rank] * numbers)
for _ in range(steps):
    world.Sendrecv_replace(data, (world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
wanted = (world.rank - steps) % world.size
if data[0] != wanted:
    raise SystemExit(f"{data[0]} in the place of {wanted}")
"""
MAIN = """#include <stdlib.h>
void ring(int, int, int *);
int main(int count, char **words) { int off = count; ring(atoi(words[1]), atoi(words[2]), &off); return off; }
"""


@pytest.fixture
def libraries_there(monkeypatch: pytest.MonkeyPatch, libraries: Path, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(libraries))
    for name, value in mpi_compiler.environment(tmp_path, crowded=True).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("libraries_there")
def test_calls_of_mpi4py_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It loads MPI for itself alone: the library that watches had not found it, and ended the program."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(mpi_compiler.prefix() / "lib"))
    monkeypatch.setenv("PYTHONPATH", f"{mpi4py.prefix()}:{os.environ.get('PYTHONPATH', '')}")
    script = tmp_path / "ring.py"
    script.write_text(SCRIPT)
    found = observed(["mpirun", "-np", "3", sys.executable, str(script), "100", "5"], "", {"n": 100.0}, "", 120.0)
    assert found.notes == ()
    assert (found.record.application, found.record.processors, found.record.shim) == ("ring", 3, True)
    assert found.record.loops == "5*sendrecv_replace"
    sent = {(each.rank, each.peer): (each.bytes, each.count) for each in found.record.messages}
    assert sent == {(0, "+1"): (800.0, 5), (1, "+1"): (800.0, 5), (2, "-2"): (800.0, 5)}


@pytest.mark.usefixtures("libraries_there")
def test_calls_of_fortran_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = compiler("fortran").removesuffix(" -static").split()
    subprocess.run([*words, "-O1", "-c", str(RING), "-o", "ring.o"], cwd=tmp_path, check=True)
    (tmp_path / "main.c").write_text(MAIN)
    root = mpi.prefix()
    folder = root / "usr/lib/x86_64-linux-gnu"
    libraries = [f"-L{folder}", "-l:libmpi_mpifh.so.40", "-l:libmpi.so.40", "-Wl,--allow-shlib-undefined"]
    runtime = f"-Wl,-rpath,{folder}:{root / 'lib/x86_64-linux-gnu'}"
    link = [*compiler().removesuffix(" -static").split(), "main.c", "ring.o", *libraries, "-lm", runtime, "-o", "ring"]
    subprocess.run(link, cwd=tmp_path, check=True)
    path = os.environ["PATH"]
    for name, value in mpi.environment("openmpi", tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{root}/usr/bin:{path}")
    found = observed(["mpirun.openmpi", "-np", "2", str(tmp_path / "ring"), "100", "5"], "", {"n": 100.0}, "", 120.0)
    assert found.notes == ()
    assert (found.record.application, found.record.processors, found.record.shim) == ("ring", 2, True)
    assert found.record.loops == "5*sendrecv_replace allreduce"
    sent = {(each.rank, each.kind, each.peer): (each.bytes, each.count) for each in found.record.messages}
    assert sent[1, "sendrecv_replace", "-1"] == (800.0, 5)
    assert sent[0, "allreduce", "all"] == (8.0, 1)
