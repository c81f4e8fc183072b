"""The stand-in kernels take the published times, agree among ranks and keep an honest journal."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.history import faults, read

KERNEL = Path(__file__).parents[2] / "examples" / "kernels" / "kernel"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run([KERNEL, *arguments], env=environment, capture_output=True, text=True, check=False)


def seconds(*arguments: str, **variables: str) -> float:
    done = run(*arguments, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    match = re.fullmatch(r"\w+ rank \d+ of \d+: (\d+\.\d+) s\n", done.stdout)
    assert match, done.stdout
    return float(match[1])


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("sweep3d", 50, 4),
        ("fft", 25, 10),
        ("improc", 48, 48),
        ("closure", 9, 2),
        ("jacobi", 40, 6),
        ("memsort", 17, 17),
        ("cpi", 32, 20),
    ],
)
def test_it_takes_the_published_time(name: str, first: int, last: int) -> None:
    scale = ("--scale", "0.0001", "--noise", "0")
    assert seconds(name, *scale) == pytest.approx(first * 1e-4)
    assert seconds(name, *scale, COSCHED_HOST_COUNT="16") == pytest.approx(last * 1e-4)


def test_the_row_is_read_by_the_number_of_hosts() -> None:
    row = [seconds("cpi", "--scale", "0.0001", "--noise", "0", COSCHED_HOST_COUNT=str(n)) for n in range(1, 17)]
    assert [round(t * 1e4) for t in row] == [32, 26, 21, 17, 14, 11, 9, 7, 5, 4, 3, 2, 4, 7, 12, 20]


def test_it_occupies_its_host_for_that_time(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    taken = seconds("cpi", "--scale", "0.01", "--journal", str(journal), COSCHED_ATTEMPT="a", COSCHED_TASK="1")
    start, end = read(journal)
    assert end.time - start.time >= taken
    assert faults([start, end], ["1"]) == []


def test_all_ranks_of_a_task_take_the_same_time_and_others_another() -> None:
    options = ("cpi", "--scale", "0.0001", "--seed", "5")
    ranks = {seconds(*options, COSCHED_TASK="17", COSCHED_RANK=str(rank)) for rank in range(3)}
    assert len(ranks) == 1
    other_task = seconds(*options, COSCHED_TASK="18")
    other_seed = seconds(*options[:-1], "6", COSCHED_TASK="17")
    assert len({*ranks, other_task, other_seed}) == 3


def test_the_noise_has_median_one_and_grows_with_sigma() -> None:
    options = ("cpi", "--scale", "0.0001", "--noise", "0.5")
    factors = sorted(seconds(*options, COSCHED_TASK=str(task)) / 32e-4 for task in range(41))
    assert 0.75 < factors[20] < 1.33  # seeded: four standard errors of the median
    assert factors[0] < 0.8
    assert factors[-1] > 1.25


def test_the_journal_says_who_ran_where(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    for rank in range(2):
        seconds(
            "fft",
            "--scale",
            "0",
            "--journal",
            str(journal),
            COSCHED_ATTEMPT="a",
            COSCHED_TASK="1",
            COSCHED_RANK=str(rank),
            COSCHED_HOST_COUNT="2",
            COSCHED_HOSTS="h1,h2",
        )
    lines = read(journal)
    assert [(line.kind, line.rank) for line in lines] == [("start", 0), ("end", 0), ("start", 1), ("end", 1)]
    assert {(line.attempt, line.task, line.count, line.hosts) for line in lines} == {("a", "1", 2, ("h1", "h2"))}


@pytest.mark.parametrize(
    ("arguments", "count", "words"),
    [
        ((), "1", "choose sweep3d"),
        (("linpack",), "1", "unknown kernel 'linpack'"),
        (("cpi", "--scale"), "1", "--scale needs a value"),
        (("cpi", "--scale", "-1"), "1", "--scale -1"),
        (("cpi", "--scale", "1.2.3"), "1", "--scale 1.2.3"),
        (("cpi", "--noise", "x"), "1", "--noise x"),
        (("cpi", "--seed", "1.5"), "1", "--seed 1.5"),
        (("cpi", "--speed", "1"), "1", "unknown option --speed"),
        (("cpi", "--journal", "/no/such/folder/journal"), "1", "cannot write the journal"),
        (("cpi",), "17", "17 hosts: run times are published for 1 to 16"),
        (("cpi",), "0", "0 hosts"),
    ],
)
def test_bad_usage_is_one_clear_line(arguments: tuple[str, ...], count: str, words: str) -> None:
    done = run(*arguments, COSCHED_HOST_COUNT=count)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.startswith("kernel: ")
    assert done.stderr.count("\n") == 1
