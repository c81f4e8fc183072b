"""What every connector shows of programs that are launched once: a mixin for the tests of each."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from cosched.connector import JobState, LaunchMode
from tests.testbed import mpi
from tests.testbed.compiler import compiler

if TYPE_CHECKING:
    from cosched.connector import Launch
    from cosched.connector.contract import Bench

__all__ = ["ParallelProgramTests"]


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


def _parallel(bench: Bench, kind: str, hosts: int, *arguments: str) -> Launch:
    launch = bench.launch(*mpi.program(kind, bench.workplace, *arguments), hosts=bench.up(hosts))
    return replace(launch, launch=LaunchMode(kind), environment=mpi.environment(kind))


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
        until = time.monotonic() + bench.patience
        while left := _processes_of(launch.attempt):
            assert time.monotonic() < until, left
            time.sleep(0.05)


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
