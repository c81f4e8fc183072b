"""Real programs are watched, those of MPI by the compiler and the launcher of Open MPI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cosched
from cosched.errors import UserError
from cosched.measurement.programs.observing import observed, shim_library
from tests.testbed.software import mpi_compiler
from tests.waiting import until

if TYPE_CHECKING:
    from cosched.measurement.programs.observation import Observation

KERNELS = Path(cosched.__file__).parents[1] / "examples" / "kernels" / "real"
RANKS = ("mpirun", "-np")
# What watches and is watched is compiled once.
pytestmark = [pytest.mark.daemon, pytest.mark.xdist_group("observed-programs")]


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("heat") / "heat"
    _build("mpicc", KERNELS / "heat.c", program, "-lm")
    return program


@pytest.fixture
def mpi(monkeypatch: pytest.MonkeyPatch, libraries: Path, tmp_path: Path) -> None:
    for name, value in mpi_compiler.environment(tmp_path, crowded=True).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(libraries))


def _build(command: str, source: Path, program: Path, *flags: str) -> None:
    environment = {**os.environ, **mpi_compiler.environment()}
    subprocess.run([command, "-O2", "-o", str(program), str(source), *flags], env=environment, check=True)


def _observed(*command: str, limit: float = 120.0) -> Observation:
    return observed(command, "", {"nx": 60.0}, "node_a", limit)


@pytest.mark.usefixtures("mpi")
def test_calls_messages_and_loops_of_a_program_of_mpi_are_seen(heat: Path) -> None:
    found = _observed(*RANKS, "3", str(heat), "60", "50", "20", "10")
    record = found.record
    assert found.notes == ()
    assert (record.application, record.processors, record.hosts, record.hardware) == ("heat", 3, 1, "node_a")
    assert (record.shim, record.calls, len(record.cpu)) == (True, 20 * 5 + 2 + 1, 3)
    assert record.loops == "2*(10*(irecv irecv#2 isend isend#2 waitall) allreduce) allreduce#2"
    assert record.digest.startswith("sha256:")
    assert 0 < record.wall < 60
    assert 0 < record.startup < 60
    assert (1 << 20) < record.rss < (1 << 30)
    sent = {(each.rank, each.peer): (each.bytes, each.count) for each in record.messages if each.kind == "isend"}
    assert sent == dict.fromkeys(((0, "+1"), (1, "-1"), (1, "+1"), (2, "-1")), (400.0, 20))
    work = [each for each in record.blocks if each.id == "waitall>irecv"]
    assert [(each.rank, each.visits) for each in work] == [(rank, 18) for rank in range(3)]
    assert all(0 < low <= middle <= high for each in work for low, middle, high in [each.quantiles])


@pytest.mark.usefixtures("mpi")
def test_where_only_times_are_wanted_nothing_is_noted_of_calls(heat: Path) -> None:
    """Of a program with many short calls hardly a run was left, as watching took too much of it."""
    command = (*RANKS, "2", str(heat), "60", "50", "20", "10")
    record = observed(command, "", {"nx": 60.0}, "node_a", 120.0, only_times=True).record
    assert (record.shim, record.processors, record.calls, len(record.cpu)) == (True, 2, 0, 2)
    assert (record.blocks, record.messages, record.loops) == ((), (), "")
    assert 0 < record.wall < 60
    assert 0 < record.startup < 60  # the launcher's time is told apart all the same


@pytest.mark.usefixtures("mpi")
def test_a_program_of_mpi_without_a_launcher_is_one_rank(heat: Path) -> None:
    record = _observed(str(heat), "60", "50", "5", "5").record
    assert (record.processors, record.shim, record.calls) == (1, True, 5 * 5 + 1 + 1)


@pytest.mark.usefixtures("mpi")
def test_several_programs_of_mpi_are_timed_as_a_whole(heat: Path) -> None:
    found = _observed("sh", "-c", f"{heat} 9 9 1 1 && {heat} 9 9 1 1")
    assert (found.record.shim, found.record.blocks) == (False, ())
    assert "several programs of MPI ran one after another" in found.notes[0]


@pytest.mark.usefixtures("mpi")
def test_the_library_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = shim_library()
    assert first is not None
    made = first.stat().st_mtime_ns
    assert shim_library() == first
    assert first.stat().st_mtime_ns == made
    assert [file.name for file in first.parent.iterdir()] == [first.name]


@pytest.mark.usefixtures("mpi")
def test_a_script_without_calls_of_mpi_is_named(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text("")
    assert _observed(sys.executable, str(script)).notes[0].startswith("work.py made no call of MPI")


def test_a_program_without_mpi_is_timed_as_a_whole(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text("import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end:\n    pass\n")
    found = _observed(sys.executable, str(script))
    assert (found.record.application, found.record.processors, found.record.shim) == ("work", 1, False)
    assert sum(found.record.cpu) >= 0.2
    assert found.record.wall >= 0.2
    assert found.record.rss > 1 << 20
    assert len(found.notes) == 1


def test_without_a_compiler_of_mpi_it_is_said_that_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("cosched.measurement.programs.observing.shim_library", lambda: None)
    assert "there is no mpicc that works" in _observed("true").notes[0]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("false",), "false ended with code 1: a run that fails teaches nothing"),
        (("sh", "-c", "kill -9 $$"), "sh was ended by SIGKILL"),
        (("there-is-no-such-program",), "there is no such program: give its path"),
    ],
)
def test_a_run_that_fails_teaches_nothing(command: tuple[str, ...], words: str) -> None:
    with pytest.raises(UserError, match=words):
        _observed(*command)


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "children"
    with pytest.raises(UserError, match=r"sh was ended after 0\.5 s: give a smaller size, or a larger --limit"):
        _observed("sh", "-c", f"sleep 300 & echo $! > {mark}; wait", limit=0.5)
    child = Path("/proc", mark.read_text().strip())
    until(lambda: not child.exists() or "State:\tZ" in (child / "status").read_text())


IN_PLACE = """\
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, data[2] = { 1, 2 }, counts[2] = { 1, 1 }, places[2] = { 0, 1 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.usefixtures("mpi")
def test_data_exchanged_in_place_have_the_sizes_of_what_is_received(tmp_path: Path) -> None:
    """What is sent is not told then, and may be no address: the program was ended by SIGSEGV."""
    (tmp_path / "place.c").write_text(IN_PLACE)
    _build("mpicc", tmp_path / "place.c", tmp_path / "place")
    found = _observed(*RANKS, "2", str(tmp_path / "place"))
    assert {(each.kind, each.bytes) for each in found.record.messages} == {("alltoallv", 4.0)}
