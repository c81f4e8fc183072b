"""A job's life: from its submission to its end, with its output."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.contract.bench import ContractBase
from cosched.connector.jobs import JobState, Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.connector.contract.bench import Bench

__all__ = ["JobLifeContract"]


class JobLifeContract(ContractBase):
    """A job's life: from its submission to its end, with its output."""

    def test_a_job_runs_to_its_end(self, bench: Bench) -> None:
        """A job goes from QUEUED to RUNNING to COMPLETED with exit code 0.

        Its times are in order.
        """
        launch, gate = bench.waiter(hosts=bench.up(1))
        before = time.time()
        job = bench.submit(launch)
        first = bench.until(launch, JobState.QUEUED, JobState.RUNNING)
        assert first.finished is None
        assert first.exit_code is None
        running = bench.until(launch, JobState.RUNNING)
        assert running.started is not None
        gate.touch()
        report = bench.until(launch, JobState.COMPLETED)
        assert report.attempt == launch.attempt
        assert report.job == job
        assert report.exit_code == 0
        assert report.started is not None
        assert report.finished is not None
        # Managers that write whole seconds cut them off.
        assert int(before) <= report.started <= report.finished <= time.time() + 1

    def test_a_failure_is_reported_with_its_code(self, bench: Bench) -> None:
        """A job that ends with another exit code than 0 is FAILED with that code.

        Signal n counts as 128 + n.
        """
        codes = {"exit 7": 7, "kill -9 $$": 137, "kill -TERM $$": 143}
        launches = [bench.shell(script) for script in codes]
        for launch in launches:
            bench.submit(launch)
        reports = [bench.until(launch, JobState.FAILED) for launch in launches]
        assert [report.exit_code for report in reports] == list(codes.values())
        assert all(report.finished is not None for report in reports)

    def test_one_process_that_fails_fails_the_job(self, bench: Bench) -> None:
        """A job on several hosts has the first nonzero exit code in rank order."""
        launch = bench.shell('exit "$((COSCHED_RANK * 3))"', hosts=bench.up(3))
        bench.submit(launch)
        assert bench.until(launch, JobState.FAILED).exit_code == 3

    def test_every_host_runs_it_once_and_knows_its_place(self, bench: Bench) -> None:
        """A job on several hosts runs once on each, with the five variables set."""
        hosts = bench.up(3)
        script = 'echo "$COSCHED_RANK $COSCHED_HOST_COUNT $COSCHED_HOSTS $COSCHED_TASK $COSCHED_ATTEMPT" >> "$0"'
        diary = bench.workplace / "places"
        launch = bench.shell(script, str(diary), hosts=hosts)
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        names = ",".join(hosts)
        expected = [f"{rank} 3 {names} 17 {launch.attempt}" for rank in range(3)]
        assert sorted(diary.read_text().splitlines()) == expected

    def test_an_unpinned_job_runs_somewhere(self, bench: Bench) -> None:
        """An unpinned job runs on `count` hosts of the manager's choice, and is told them."""
        diary = bench.workplace / "free"
        script = 'echo "$COSCHED_RANK $COSCHED_HOST_COUNT $COSCHED_HOSTS $(paste -sd, "$COSCHED_HOST_FILE")" >> "$0"'
        launch = bench.shell(script, str(diary), count=2)
        bench.submit(launch)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0
        places = [line.split(" ") for line in sorted(diary.read_text().splitlines())]
        assert [place[:2] for place in places] == [["0", "2"], ["1", "2"]]
        assert len({tuple(place[2:]) for place in places}) == 1
        names = places[0][2].split(",")
        assert len(names) == 2
        assert all(names)
        assert places[0][3] == places[0][2]

    def test_an_unpinned_process_finds_its_host(self, bench: Bench) -> None:
        """A single process that passes through finds the host that the manager chose."""
        launch = bench.shell('echo "$COSCHED_HOSTS $(cat "$COSCHED_HOST_FILE")"')
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        name, _, written = bench.written(launch, "out", 0).data.decode().rstrip("\n").partition(" ")
        assert name
        assert written == name

    def test_it_runs_in_its_directory_and_reads_its_file(self, bench: Bench) -> None:
        """`directory` is the working directory, `stdin` the standard input."""
        folder = bench.workplace / "with space"
        folder.mkdir()
        folder.chmod(bench.workplace.stat().st_mode)
        (folder / "in put").write_text("read\n")
        launch = bench.shell("pwd -P > here; cat", hosts=bench.up(1))
        launch = replace(launch, directory=str(folder), stdin=str(folder / "in put"))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert (folder / "here").read_text().rstrip("\n") == str(folder.resolve())
        assert bench.written(launch, "out", 0).data == b"read\n"

    def test_what_it_wrote_comes_back(self, bench: Bench) -> None:
        """`output` returns what each process wrote, whole or in part; None without any."""
        launch = bench.shell('echo "out $COSCHED_RANK"; echo "err $COSCHED_RANK" >&2', hosts=bench.up(2))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        for rank in (0, 1):
            for stream in ("out", "err"):
                whole = bench.written(launch, stream, rank)
                assert whole == Output(f"{stream} {rank}\n".encode(), 0, 6)
                assert bench.connector.output(launch.attempt, stream, rank, 4, 1) == Output(b"%d" % rank, 4, 6)
                assert bench.connector.output(launch.attempt, stream, rank, -2, 9) == Output(b"%d\n" % rank, 4, 6)
        assert bench.connector.output(launch.attempt, "out", 7, 0, 9) is None
        assert bench.connector.output(str(uuid.uuid4()), "out", 0, 0, 9) is None

    def test_its_preparation_comes_first_and_knows_where_it_is(self, bench: Bench) -> None:
        """`prepare` runs on each host first, with the hosts, their classes and the parameters."""
        hosts = bench.up(2)
        script = 'echo "$COSCHED_HOSTS $COSCHED_HOST_CLASSES $COSCHED_PARAMETER_n" > "$0.$COSCHED_RANK"'
        launch = replace(
            bench.shell('cat "$0.$COSCHED_RANK"', str(bench.workplace / "input"), hosts=hosts),
            prepare=("/bin/sh", "-c", script, str(bench.workplace / "input")),
            classes=("a", "b"),
            parameters={"n": 2.5},
        )
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        for rank in (0, 1):
            assert bench.written(launch, "out", rank).data.decode() == f"{','.join(hosts)} a,b 2.5\n"

    def test_a_failed_preparation_fails_the_attempt_with_its_output(self, bench: Bench) -> None:
        """The command does not run; the exit code and the words are the preparation's."""
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.submit(replace(launch, prepare=("/bin/sh", "-c", "echo no licence >&2; exit 3")))
        report = bench.until(launch, JobState.FAILED)
        assert report.exit_code == 3
        assert "preparation" in report.reason
        assert b"no licence" in bench.written(launch, "err", 0).data
        assert not diary.exists()

    def test_output_is_kept_for_each_rank(self, bench: Bench, outputs: Callable[[str], Path]) -> None:
        """Standard output and error of rank r are out.r and err.r."""
        launch = bench.shell('echo "out $COSCHED_RANK"; echo "err $COSCHED_RANK" >&2', hosts=bench.up(2))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        folder = outputs(launch.attempt)
        for rank in (0, 1):
            bench.await_file(folder / f"err.{rank}")
            assert (folder / f"out.{rank}").read_text() == f"out {rank}\n"
            assert (folder / f"err.{rank}").read_text() == f"err {rank}\n"
