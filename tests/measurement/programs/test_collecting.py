"""Programs run as tasks begin them, with the library of the task's folder; their records are collected."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.measurement.programs.collecting import CollectedRun, collected
from cosched.measurement.programs.observing import task_library
from cosched.measurement.programs.watching import LIBRARY, SHIM_VARIABLE, watched_command
from tests.testbed.software import mpi_compiler
from tests.testbed.software.compiler import compiler

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.daemon
LOCALES = Path("/usr/share/i18n/locales/de_DE")


SUM = """\
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@dataclass
class Place:
    """The folder of a task, with the library in `observed`."""

    folder: Path
    task: int = 0

    def run(self, *command: str, starter: tuple[str, ...] = (), variables: Mapping[str, str] | None = None) -> int:
        """Begin a command as a new task does; return its exit code."""
        self.task += 1
        told = {
            "COSCHED_TASK": str(self.task),
            "COSCHED_ATTEMPT": str(uuid.uuid4()),
            "COSCHED_RANK": "0",
            "COSCHED_HOSTS": "a,b",
            "COSCHED_HOST_COUNT": "2",
            "COSCHED_HOST_CLASSES": "node_a,node_a",
            "COSCHED_PARAMETER_n": "12",
            "COSCHED_PARAMETER_name": "twelve",
            SHIM_VARIABLE: str(self.folder / "observed"),
        }
        words = [*starter, *watched_command(command)]
        environment = {**os.environ, **told, **(variables or {})}
        return subprocess.run(words, env=environment, cwd=self.folder, check=False, timeout=120).returncode

    def collected(self) -> CollectedRun:
        """Return what the last task left."""
        return collected(self.folder / "observed", "", lambda _: {}, "")[-1]


@pytest.fixture
def place(tmp_path: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return _place(tmp_path, libraries, monkeypatch, mpi=False)


@pytest.fixture
def mpi_place(tmp_path: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return _place(tmp_path, libraries, monkeypatch, mpi=True)


def _place(folder: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch, *, mpi: bool) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(libraries))
    if mpi:
        for name, value in mpi_compiler.environment(folder, crowded=True).items():
            monkeypatch.setenv(name, value)
    else:
        monkeypatch.setattr("cosched.measurement.programs.observing.shim_library", lambda: None)
    library, remark = task_library()
    assert library is not None
    assert remark == ("" if mpi else "there is no mpicc that works here: programs are timed as a whole")
    (folder / "observed").mkdir()
    (folder / "observed" / LIBRARY).symlink_to(library)
    return Place(folder)


def _compiled(folder: Path, source: str, *words: str) -> str:
    (folder / "program.c").write_text(source)
    command = [*(words or compiler().split()), str(folder / "program.c"), "-o", str(folder / "program")]
    subprocess.run(command, check=True, env=dict(os.environ))
    return "./program"


def test_a_program_without_mpi_is_timed_as_a_whole(place: Place) -> None:
    (place.folder / "work.py").write_text(
        "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end:\n    pass\n"
    )
    assert place.run(sys.executable, "work.py") == 0
    found = place.collected()
    assert (found.task, found.over, found.reason) == ("1", True, "")
    assert found.seen is not None
    record = found.seen.record
    assert (record.application, record.hardware, record.hosts, record.processors) == ("work", "node_a", 2, 1)
    assert (dict(record.parameters), record.shim, record.calls) == ({"n": 12.0}, False, 0)
    assert 0.1 <= record.cpu[0] <= record.wall < 60
    assert record.rss > 1 << 20
    assert record.digest.startswith("sha256:")
    assert abs(record.started - (place.folder / "work.py").stat().st_mtime) < 300


COMMA = """\
#include <locale.h>
#include <stdio.h>
int main(void)
{
    if (!setlocale(LC_ALL, "de_DE")) return 9;
    char text[9];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return text[1] == ',' ? 0 : 8;
}
"""


@pytest.mark.skipif(not LOCALES.exists(), reason="the system has no sources of locales")
def test_a_program_that_writes_a_comma_in_numbers_is_timed_all_the_same(place: Place) -> None:
    """What watched it wrote its times in the program's language, and nobody could read them."""
    made = ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(place.folder / "de_DE")]
    subprocess.run(made, check=True, capture_output=True)
    assert place.run(_compiled(place.folder, COMMA), variables={"LOCPATH": str(place.folder)}) == 0
    found = place.collected()
    assert found.reason == ""
    assert found.seen is not None


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/bin/bash"])
def test_a_script_is_the_program_and_may_become_another_one(place: Place, interpreter: str) -> None:
    script = place.folder / "go"
    script.write_text(f"#!{interpreter}\n{sys.executable} -c 'sum(range(10**6))'\n[ $# = 0 ] || exec true\n")
    script.chmod(0o755)
    for words in ((), ("then",)):
        assert place.run("./go", *words) == 0
        seen = place.collected().seen
        assert seen is not None
        assert (seen.record.application, seen.record.processors) == ("go", 1)
        assert 0.001 < seen.record.cpu[0] <= seen.record.wall  # both with the Python that it ran


def test_the_exit_code_is_the_programs_and_a_failed_run_teaches_nothing(place: Place) -> None:
    assert place.run("sh", "-c", "exit 7") == 7
    found = place.collected()
    assert (found.seen, found.over) == (None, True)
    assert found.reason == "its program ended with code 7: a run that fails teaches nothing"
    assert place.run("./there-is-no-such-program") == 127


def test_a_program_that_was_ended_leaves_no_record(place: Place) -> None:
    assert place.run("sh", "-c", "kill -9 $$") == -9
    found = place.collected()
    assert (found.seen, found.over) == (None, False)
    assert found.reason.startswith("1 of 1 processes told nothing of their end: it runs still, was ended, or cannot be")


def test_a_program_that_cannot_be_watched_runs_as_ever(place: Place) -> None:
    program = _compiled(place.folder, "int main(void) { return 0; }", *compiler().split(), "-static")
    assert place.run(program) == 0
    assert "cannot be watched (linked statically, setuid)" in place.collected().reason


@pytest.mark.parametrize("harm", ["no library", "no folder", "full", "no path"])
def test_where_nothing_can_be_written_the_program_runs_unwatched(
    place: Place, harm: str, capfd: pytest.CaptureFixture[str]
) -> None:
    variables: dict[str, str] = {}
    if harm == "no library":
        (place.folder / "observed" / LIBRARY).unlink()
    elif harm == "no folder":
        variables[SHIM_VARIABLE] = "/proc/no/such/folder"
    elif harm == "full":
        (place.folder / "observed" / LIBRARY).rename(place.folder / LIBRARY)
        (place.folder / "observed").rmdir()
        (place.folder / "observed").write_text("")
    else:
        variables["PATH"] = "/nonexistent"
    assert place.run("/bin/echo", "done", variables=variables) == 0
    assert capfd.readouterr() == ("done\n", "")
    if harm == "no path":  # its own tools are found all the same
        assert place.collected().seen is not None


def test_ranks_of_mpi_are_one_run(mpi_place: Place) -> None:
    program = _compiled(mpi_place.folder, SUM, "mpicc")
    assert mpi_place.run(program, starter=("mpirun", "-np", "2")) == 0
    seen = mpi_place.collected().seen
    assert seen is not None
    record = seen.record
    assert (record.application, record.processors, record.hosts, record.calls) == ("program", 2, 2, 1)
    assert (record.shim, record.loops, len(record.cpu), seen.notes) == (True, "allreduce", 2, ())
    assert record.wall + record.startup >= max(record.cpu)
    late = {"COSCHED_STARTED": str(time.time() - 500)}  # when its launcher was started
    assert mpi_place.run(program, variables=late) == 0
    seen = mpi_place.collected().seen
    assert seen is not None
    assert 500 < seen.record.startup < 1000
    assert seen.record.by_task
    assert mpi_place.run(program, "3", starter=("mpirun", "-np", "2")) == 3
    assert "ended with code 3" in mpi_place.collected().reason


def test_a_program_that_starts_its_ranks_itself_is_seen(mpi_place: Place) -> None:
    _compiled(mpi_place.folder, SUM, "mpicc")
    assert mpi_place.run("mpirun", "-np", "2", "./program") == 0
    seen = mpi_place.collected().seen
    assert seen is not None
    assert (seen.record.application, seen.record.processors) == ("program", 2)
    assert mpi_place.run("sh", "-c", "./program && ./program") == 0
    seen = mpi_place.collected().seen
    assert seen is not None
    assert (seen.record.shim, seen.record.processors, seen.record.application) == (False, 1, "sh")
    assert seen.notes[0].startswith("several programs of MPI ran one after another")


def test_hosts_of_several_classes_have_none(place: Place) -> None:
    assert place.run("true", variables={"COSCHED_HOST_CLASSES": "node_a,node_b"}) == 0
    seen = place.collected().seen
    assert seen is not None
    assert seen.record.hardware == ""
    assert seen.notes == ("nobody named one class of its hosts: --class does",)
    (named,) = collected(place.folder / "observed", "heat", lambda words: {"m": float(len(words))}, "node_c")
    assert named.seen is not None
    record = named.seen.record
    assert (record.hardware, record.application, record.parameters) == ("node_c", "heat", {"n": 12.0, "m": 1.0})


@pytest.mark.parametrize("content", ["", "whole\n", "whole x 1 1 1 1 a b\nend\n", "whole 0 1 1 1 1 a b\n", "\0" * 99])
def test_what_no_program_wrote_makes_no_record(place: Place, content: str) -> None:
    assert place.run("true") == 0
    (whole,) = (place.folder / "observed").glob("1.*/whole.*")
    whole.write_text(content)
    found = place.collected()
    assert (found.seen, found.over) == (None, False)
    assert "does not tell how a process ended" in found.reason


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read \(No such file or directory\): name the folder of"):
        collected(tmp_path / "observed", "", lambda _: {}, "")
