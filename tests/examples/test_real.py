"""The script builds the real kernels; each computes its result rightly and notices a wrong one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.testbed.software import mpi_compiler
from tests.testbed.software.compiler import compiler

if TYPE_CHECKING:
    from collections.abc import Iterator

KERNELS = Path(__file__).parents[2] / "examples" / "kernels" / "real"
LINE = r"{} .* on {}: {}, off by \d\.\d[eE][+-]\d\d, \d+\.\d{{6}} s\n"
PARALLEL = {
    "heat": "heat 37 20 30 10",
    "sweep": "sweep 9 8 10 2 3",
    "fft": "fft 32 2",
    "matmul": "matmul 24 2",
    "sort": "sort 3001 2",
}
SERIAL = {
    "nbody": "nbody 30 200",
    "cg": "cg 30 20 25",
    "kmeans": "kmeans.py 300 5 3",
}
pytestmark = [pytest.mark.daemon, pytest.mark.xdist_group("real-programs")]  # built once
# One change each that makes the program compute something else, in the part that is measured.
MISTAKES = {
    "heat": ("0.25 * (cell[-ny]", "0.26 * (cell[-ny]"),
    "sweep": ("weight[2] * *c;", "weight[2] * *b;"),
    "fft": ("row[k] = even + odd;", "row[k] = even;"),
    "matmul": ("(rank + turn) % size);", "0);"),
    "sort": ("qsort(result, *got", "qsort(result, *got / 2"),
    "nbody": ("inverse * inverse * inverse / n", "inverse * inverse / n"),
    "cg": ("r = r - alpha*ap", "r = r - 1.01d0*alpha*ap"),
    "kmeans": ("distance.argmin", "distance.argmax"),
}


def _environment() -> dict[str, str]:
    return {
        **mpi_compiler.environment(Path(os.environ["TMPDIR"]), crowded=True),
        "HOME": os.environ.get("HOME", "/"),
        "CC": compiler(),
        "FC": compiler("fortran"),
        "OMP_NUM_THREADS": "2",
    }


@pytest.fixture(scope="module", autouse=True)
def _sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have MPI's runs leave their folders in one of these tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("sessions")))
        yield


def _run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**_environment(), **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)


def _command(folder: Path, words: str) -> list[str]:
    name, *arguments = words.split()
    interpreter = [sys.executable] if name.endswith(".py") else []
    return [*interpreter, str(folder / name), *arguments]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    done = _run(str(KERNELS / "build"), str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(Path(line).stem for line in done.stdout.split()) == sorted([*PARALLEL, *SERIAL])
    return folder


@pytest.mark.parametrize("ranks", ["1", "2", "4"])
@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_programs_are_right_on_any_number_of_processes(programs: Path, name: str, ranks: str) -> None:
    done = _run("mpirun", "-n", ranks, *_command(programs, PARALLEL[name]))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(LINE.format(name, ranks, "right"), done.stdout), done.stdout


@pytest.mark.parametrize("name", SERIAL)
def test_programs_of_one_process_are_right(programs: Path, name: str) -> None:
    done = _run(*_command(programs, SERIAL[name]))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(LINE.format(name, "[12]", "right"), done.stdout), done.stdout


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_computation_is_noticed(tmp_path: Path, name: str) -> None:
    sources = tmp_path / "sources"  # the script builds what is there
    sources.mkdir()
    (file,) = (Path(shutil.copy(each, sources)) for each in KERNELS.iterdir() if each.stem == name)
    shutil.copy(KERNELS / "kernel.h", sources)
    shutil.copy(KERNELS / "build", sources)
    right, wrong = MISTAKES[name]
    assert file.read_text().count(right) == 1
    file.write_text(file.read_text().replace(right, wrong))
    _run(str(sources / "build"), str(tmp_path))
    launcher = ["mpirun", "-n", "2"] if name in PARALLEL else []
    done = _run(*launcher, *_command(tmp_path, {**PARALLEL, **SERIAL}[name]))
    assert done.returncode == 1
    assert ": WRONG, off by " in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("heat", "heat: give NX NY STEPS CHECK, each at least 1\n"),
        ("heat 4 4 x 1", "heat: give NX NY STEPS CHECK, each at least 1\n"),
        ("sweep 4 4 4 1", "sweep: give NX NY NZ STEPS BLOCK, each at least 1\n"),
        ("fft 12 1", "fft: N is a power of two up to 16384, a multiple of the processes\n"),
        ("matmul 0 1", "matmul: give N, a multiple of the number of processes up to 32768, and STEPS\n"),
        ("sort 31 1", "sort: give KEYS, at least 32 a process, and STEPS\n"),
        ("nbody 1 1", "nbody: give BODIES, 2 to 1000000, and STEPS, 1 to 1000000\n"),
        ("cg 4 many 1", "cg: give NX NY STEPS, each 1 to 1000000\n"),
        ("kmeans.py 9 1 1", "kmeans: give POINTS (at least 10 a cluster), CLUSTERS and STEPS, each at least 1\n"),
        ("kmeans.py", "kmeans: give POINTS (at least 10 a cluster), CLUSTERS and STEPS, each at least 1\n"),
    ],
)
def test_bad_arguments_are_one_line(programs: Path, words: str, message: str) -> None:
    done = _run(*_command(programs, words))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_a_program_whose_compiler_is_missing_is_left_out(tmp_path: Path) -> None:
    done = _run(str(KERNELS / "build"), str(tmp_path), FC="no-such-compiler", MPICC="no-such-mpicc")
    assert done.returncode == 0
    assert "build: cg is left out: there is no no-such-compiler (a compiler of Fortran)\n" in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kmeans.py", "nbody"]
