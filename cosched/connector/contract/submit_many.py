"""Attempts that are submitted together remain separate, as one job or as many."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.contract.bench import ContractBase
from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import JobState
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract.bench import Bench
    from cosched.connector.jobs import Launch

__all__ = ["SubmitManyContract"]

_MANY = 5


class SubmitManyContract(ContractBase):
    """Attempts that are submitted together remain separate.

    The manager may take them as one job or as many.
    """

    def test_each_of_many_runs_its_own_command(self, bench: Bench) -> None:
        """Unpinned attempts of one submission run once each, as separate jobs with separate values."""
        made = [_marking_launch(bench, place) for place in range(_MANY)]
        jobs = bench.submit_many([launch for launch, _ in made])
        assert len(set(jobs.values())) == _MANY
        for launch, _ in made:
            report = bench.until(launch, JobState.COMPLETED, JobState.FAILED)
            assert (report.state, report.job) == (JobState.COMPLETED, jobs[launch.attempt])
        time.sleep(self.quiet)
        assert [file.read_text() for _, file in made] == [
            f"{place} {made[place][0].attempt} 0 of 1\n" for place in range(_MANY)
        ]

    def test_each_of_many_runs_on_its_hosts(self, bench: Bench) -> None:
        """Pinned attempts that leave together run on their own hosts, all ranks of each."""
        hosts = bench.up(3)
        script = 'echo "$COSCHED_HOSTS $COSCHED_RANK" >> "$0.$COSCHED_RANK"'
        files = [bench.workplace / f"place-{place}" for place in range(2)]
        launches = [
            bench.shell(script, str(file), hosts=own) for file, own in zip(files, (hosts[:2], hosts[2:]), strict=True)
        ]
        bench.submit_many(launches)
        for launch in launches:
            bench.until(launch, JobState.COMPLETED)
        assert files[0].with_name("place-0.1").read_text() == f"{hosts[0]},{hosts[1]} 1\n"
        assert files[1].with_name("place-1.0").read_text() == f"{hosts[2]} 0\n"
        assert len(list(bench.workplace.glob("place-*.*"))) == 3

    def test_one_of_many_fails_alone(self, bench: Bench) -> None:
        """Jobs of one submission have their own exit codes, and events report each."""
        launches = [bench.shell(f"exit {code}") for code in range(3)]
        bench.submit_many(launches)
        assert [bench.until(launch, JobState.COMPLETED, JobState.FAILED).exit_code for launch in launches] == [0, 1, 2]
        ends = {report.attempt: report.exit_code for report in bench.listen_to_ends(launches)}
        assert [ends[launch.attempt] for launch in launches] == [0, 1, 2]

    def test_what_cannot_go_keeps_none_of_the_others(self, bench: Bench) -> None:
        """A refused attempt and a cancelled one say so, and the rest runs."""
        good, file = _marking_launch(bench, 0)
        bad = replace(_marking_launch(bench, 1)[0], name="x\nqueue 500")
        fenced, never = _marking_launch(bench, 2)
        bench.connector.cancel(fenced.attempt)
        outcomes = bench.hand_over([bad, good, fenced])
        assert isinstance(outcomes[bad.attempt], UserError)
        assert isinstance(outcomes[good.attempt], str)
        assert isinstance(outcomes[fenced.attempt], str | ConnectorError)
        bench.until(good, JobState.COMPLETED)
        time.sleep(self.quiet)
        assert file.exists()
        assert not never.exists()

    def test_one_of_many_is_cancelled_alone(self, bench: Bench) -> None:
        """Cancelling one job of a submission leaves the other alone, after a restart too."""
        waiters = [bench.waiter() for _ in range(2)]
        jobs = bench.submit_many([launch for launch, _ in waiters])
        for launch, _ in waiters:
            bench.until(launch, JobState.RUNNING)
        bench.restart()
        found = [bench.connector.find(launch.attempt) for launch, _ in waiters]
        assert [report and report.job for report in found] == list(jobs.values())
        (taken, never), (left, gate) = waiters
        bench.connector.cancel(taken.attempt)
        bench.until(taken, JobState.REMOVED)
        never.touch()
        gate.touch()
        bench.until(left, JobState.COMPLETED)
        time.sleep(self.quiet)
        assert not never.with_name(never.name + ".done").exists()

    def test_submitting_many_again_runs_each_once(self, bench: Bench) -> None:
        """Attempts that the manager has or had are never submitted again, in any company."""
        made = [_marking_launch(bench, place) for place in range(_MANY)]
        bench.submit_many([launch for launch, _ in made[:3]])
        bench.restart()
        bench.hand_over([launch for launch, _ in made])
        for launch, _ in made:
            bench.until(launch, JobState.COMPLETED)
        bench.hand_over([launch for launch, _ in made])
        time.sleep(self.quiet)
        assert [len(file.read_text().splitlines()) for _, file in made] == [1] * _MANY


def _marking_launch(bench: Bench, place: int) -> tuple[Launch, Path]:
    """Make an unpinned launch that writes its facts in one line into the returned file."""
    file = bench.workplace / f"mark-{place}"
    script = 'echo "$1 $COSCHED_ATTEMPT $COSCHED_RANK of $COSCHED_HOST_COUNT" >> "$0"'
    return bench.shell(script, str(file), str(place)), file
