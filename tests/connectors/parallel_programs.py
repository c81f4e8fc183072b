"""What every connector shows of programs that are launched once: a mixin for the tests of each."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from cosched.connector import JobState, LaunchMode
from tests.testbed.software import jupyter, mpi, mpi_compiler
from tests.testbed.software.compiler import compiler
from tests.waiting import until

if TYPE_CHECKING:
    from cosched.connector import Launch
    from cosched.connector.contract import Bench

__all__ = ["LauncherAgentTests", "ParallelProgramTests"]


_THREADS = """\
#include <stdio.h>
int main(void)
{
    int threads = 0;
#pragma omp parallel reduction(+:threads)
    threads = 1;
    printf("%d threads\\n", threads);
    return 0;
}
"""


_BROADCAST = """\
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
int main(int count, char **words)
{
    int rank, value;
    cpu_set_t cores;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    value = rank ? 0 : 7;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    sched_getaffinity(0, sizeof cores, &cores);
    printf("rank %d has %d and %d cores\\n", rank, value, CPU_COUNT(&cores));
    MPI_Finalize();
    return 0;
}
"""


def _parallel(bench: Bench, kind: str, hosts: int, *arguments: str) -> Launch:
    launch = bench.launch(*mpi.program(kind, bench.workplace, *arguments), hosts=bench.up(hosts))
    return replace(launch, launch=LaunchMode(kind), environment=mpi.environment(kind, _sessions(bench)))


def _sessions(bench: Bench) -> Path:
    """Return a folder in which jobs of any user leave the folders of MPI's runs."""
    folder = bench.workplace / "sessions"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)
    return folder


class ParallelProgramTests:
    """Real programs on real hosts, by Debian's Open MPI and MPICH.

    Attributes:
        variables: what Open MPI needs beside where the hosts are not machines of their own.
    """

    variables: ClassVar[dict[str, str]] = {}

    def test_a_program_launched_once_runs_on_the_first_host_and_finds_all(self, bench: Bench) -> None:
        """It runs once; the names of all hosts are told in a variable and a file."""
        hosts = bench.up(3)
        script = 'echo "$COSCHED_RANK $COSCHED_HOST_COUNT $COSCHED_HOSTS $(paste -sd, "$COSCHED_HOST_FILE")" >> "$0"'
        diary = bench.workplace / "once"
        launch = replace(bench.shell(script, str(diary), hosts=hosts), launch=LaunchMode.ONCE)
        bench.submit(launch)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0
        rank, count, told, written = diary.read_text().split()
        assert (rank, count, sorted(told.split(","))) == ("0", "3", sorted(hosts))
        assert written == told

    @pytest.mark.parametrize(("kind", "hosts"), [("openmpi", 4), ("mpich", 4), ("openmpi", 1), ("mpich", 1)])
    def test_ranks_on_all_hosts_add_up(self, bench: Bench, kind: str, hosts: int) -> None:
        """One allreduce over all hosts, and the words of all ranks in the output of the first."""
        launch = _parallel(bench, kind, hosts)
        bench.submit(launch)
        report = bench.until(launch, JobState.COMPLETED, JobState.FAILED)
        assert report.exit_code == 0, bench.written(launch, "err", 0).data.decode()
        written = bench.written(launch, "out", 0).data.decode().splitlines()
        total = hosts * (hosts + 1) // 2
        assert sorted(written) == [f"rank {rank} of {hosts} sum {total}" for rank in range(hosts)]

    @pytest.mark.parametrize("kind", mpi.KINDS)
    def test_a_host_gets_several_ranks(self, bench: Bench, kind: str) -> None:
        """Two hosts with three ranks each are six ranks of one program."""
        launch = replace(_parallel(bench, kind, 2), processes_per_host=3)
        launch = replace(launch, environment={**launch.environment, **self.variables})
        bench.submit(launch)
        report = bench.until(launch, JobState.COMPLETED, JobState.FAILED)
        assert report.exit_code == 0, bench.written(launch, "err", 0).data.decode()
        written = bench.written(launch, "out", 0).data.decode().splitlines()
        assert sorted(written) == [f"rank {rank} of 6 sum 21" for rank in range(6)]

    def test_threads_of_openmp_are_as_many_as_asked_for(self, bench: Bench) -> None:
        """The program runs on each host with its own threads."""
        source = bench.workplace / "threads.c"
        source.write_text(_THREADS, encoding="utf-8")
        program = source.with_suffix("")
        subprocess.run([*compiler().split(), "-fopenmp", str(source), "-o", str(program)], check=True)
        launch = bench.launch(str(program), hosts=bench.up(2))
        # HTCondor allows as many threads as it gave cores, which are one here.
        launch = replace(launch, environment={"OMP_NUM_THREADS": "3", "OMP_THREAD_LIMIT": "3"})
        bench.submit(launch)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0
        for rank in range(2):
            written = bench.written(launch, "out", rank)
            assert written.data.decode() == "3 threads\n", written

    def test_a_notebook_is_executed_in_its_place(self, bench: Bench) -> None:
        """As docs/mpi.md has it: a kernel is started on the host, and the results are kept in the notebook."""
        notebook = bench.workplace / "analysis.ipynb"
        source = "import os\nprint(6 * 7, os.environ['COSCHED_HOSTS'])"
        cell: dict[str, Any] = {
            "cell_type": "code",
            "id": "only",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        document = {"cells": [cell | {"source": source}], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        notebook.write_text(json.dumps(document), encoding="utf-8")
        notebook.chmod(0o666)
        launch = _by_jupyter(bench, "-c", _EXECUTE, str(notebook), "--inplace")
        bench.submit(launch)
        report = bench.until(launch, JobState.COMPLETED, JobState.FAILED)
        assert report.exit_code == 0, bench.written(launch, "err", 0).data.decode()
        (done,) = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        assert "".join(done["outputs"][0]["text"]) == f"42 {launch.hosts[0]}\n"

    def test_a_kernel_computes_what_it_is_asked_and_ends_with_its_task(self, bench: Bench) -> None:
        """Whoever has its connection file, which it writes when it is ready, may talk to it."""
        connection = bench.workplace / "kernel.json"
        bench.workplace.chmod(0o1777)
        launch = _by_jupyter(bench, "-m", "ipykernel_launcher", "-f", str(connection))
        bench.submit(launch)
        client = BlockingKernelClient()
        client.load_connection_info(_written(bench, connection))
        client.start_channels()
        try:
            client.wait_for_ready(timeout=bench.patience)
            words: list[str] = []
            answer = client.execute_interactive(
                "import os\nprint(6 * 7, os.environ['COSCHED_HOSTS'])",
                timeout=bench.patience,
                output_hook=lambda said: words.append(said["content"].get("text", "")),
            )
            assert answer["content"]["status"] == "ok"
            assert "".join(words) == f"42 {launch.hosts[0]}\n"
        finally:
            client.stop_channels()
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        _await_end(bench, launch)

    @pytest.mark.parametrize(("kind", "code"), [("openmpi", 137), ("mpich", None)])
    def test_a_rank_that_dies_ends_the_group(self, bench: Bench, kind: str, code: int | None) -> None:
        """The others, which wait for its number, are ended; the exit code is mpirun's (MPICH's varies)."""
        launch = _parallel(bench, kind, 2, "die", "1")
        bench.submit(launch)
        report = bench.until(launch, JobState.FAILED)
        assert report.exit_code
        assert code in (None, report.exit_code)

    @pytest.mark.parametrize("kind", mpi.KINDS)
    def test_a_cancelled_program_leaves_no_process_on_any_host(self, bench: Bench, kind: str) -> None:
        """Neither a rank nor a daemon of the launcher stays."""
        marks = bench.workplace / "ranks"
        marks.mkdir()
        marks.chmod(0o1777)
        launch = _parallel(bench, kind, 3, "wait", str(marks))
        bench.submit(launch)
        for rank in range(3):
            bench.await_file(marks / str(rank))
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        _await_end(bench, launch)


class LauncherAgentTests:
    """For connectors with an agent of their own by which launchers reach the other hosts."""

    def test_open_mpi_has_a_place_of_its_own_on_each_host(self, bench: Bench) -> None:
        """Of three daemons on slots of one machine each removed the others' files: one program in ten did not begin."""
        hosts = bench.up(3)
        told = 'echo "$OMPI_MCA_orte_tmpdir_base"; test -w "$OMPI_MCA_orte_tmpdir_base"'
        ask = f'for host in $(cat "$COSCHED_HOST_FILE"); do "$OMPI_MCA_plm_rsh_agent" "$host" {shlex.quote(told)}; done'
        launch = replace(bench.shell(f"set -e; {ask}", hosts=hosts), launch=LaunchMode.ONCE)
        bench.submit(launch)
        report = bench.until(launch, JobState.COMPLETED, JobState.FAILED)
        assert report.exit_code == 0, (bench.written(launch, "out", 0).data, bench.written(launch, "err", 0).data)
        places = bench.written(launch, "out", 0).data.decode().split()
        assert len(set(places)) == 3, places

    def test_ranks_on_slots_of_one_machine_have_all_cores_and_broadcast(self, bench: Bench) -> None:
        """Open MPI 5 bound both ranks to the first core, and a broadcast between them never ended."""
        source = bench.workplace / "broadcast.c"
        source.write_text(_BROADCAST, encoding="utf-8")
        program = source.with_suffix("")
        needs = mpi_compiler.environment(_sessions(bench), crowded=True)
        subprocess.run(["mpicc", str(source), "-o", str(program)], env={**os.environ, **needs}, check=True)
        launch = bench.launch(str(program), hosts=bench.up(2))
        launch = replace(launch, launch=LaunchMode.OPENMPI, environment=needs, time_limit=bench.patience)
        bench.submit(launch)
        report = bench.until(launch, JobState.COMPLETED, JobState.FAILED, JobState.REMOVED)
        assert report.exit_code == 0, (report, bench.written(launch, "err", 0).data.decode())
        cores = len(os.sched_getaffinity(0))
        written = bench.written(launch, "out", 0).data.decode().splitlines()
        assert sorted(written) == [f"rank {rank} has 7 and {cores} cores" for rank in range(2)]
        assert "unhandled shell" not in bench.written(launch, "err", 0).data.decode()


_EXECUTE = "from nbclient.cli import main; main()"  # what the command `jupyter execute` does


def _by_jupyter(bench: Bench, *words: str) -> Launch:
    """Return the launch of a Python with Jupyter, which keeps files in the home of its user."""
    python, variables = jupyter.python()
    home = bench.workplace / "home"
    home.mkdir()
    home.chmod(0o1777)
    return replace(bench.launch(python, *words, hosts=bench.up(1)), environment={**variables, "HOME": str(home)})


def _written(bench: Bench, file: Path) -> Any:
    """Return a document once all of it is written."""
    until = time.monotonic() + bench.patience
    while True:
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            assert time.monotonic() < until, f"{file} is not written"
            time.sleep(0.05)


def _await_end(bench: Bench, launch: Launch) -> None:
    """Wait until no process of an attempt is left."""
    until(lambda: not _processes_of(launch.attempt), lambda: _processes_of(launch.attempt))


def _processes_of(attempt: str) -> list[str]:
    """Return the command lines of an attempt's processes, by the mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"COSCHED_ATTEMPT={attempt}".encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
