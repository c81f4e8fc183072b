from __future__ import annotations

import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import Launch
from cosched_slurm.job_arrays import JobArrays, array_groups
from cosched_slurm.spool import SlurmAttemptFolders

if TYPE_CHECKING:
    from pathlib import Path

A, B, C = (str(uuid.UUID(int=number)) for number in (1, 2, 3))


@pytest.fixture
def arrays(tmp_path: Path) -> JobArrays:
    attempts = SlurmAttemptFolders(tmp_path / "the spool")
    for name in (A, B):
        attempts.create(name)
        attempts.write(name, "job.sh", f"#!/bin/sh\necho {name}\n")
    return JobArrays(attempts)


def _launches(*names: str) -> list[Launch]:
    return [Launch(name, "1", "t", ("/x",)) for name in names]


def test_an_array_is_known_after_a_restart(arrays: JobArrays, tmp_path: Path) -> None:
    array = arrays.create(_launches(A, B))
    for known in (arrays, JobArrays(SlurmAttemptFolders(tmp_path / "the spool"))):
        assert known.attempts_of(array) == (A, B)
        assert known.element_of(B) == (array, 1)
    assert arrays.attempts_of(C) == ()
    assert arrays.element_of(C) is None


def test_an_attempt_that_is_submitted_alone_is_nobodys_element(arrays: JobArrays) -> None:
    arrays.create(_launches(A, B))
    arrays.remove_element(A)
    arrays.remove_element(A)
    assert arrays.element_of(A) is None


def test_each_element_runs_its_attempts_script(arrays: JobArrays, tmp_path: Path) -> None:
    script = tmp_path / "the spool" / arrays.create(_launches(A, B)) / "job.sh"

    def run(index: int) -> subprocess.CompletedProcess[str]:
        told = {"SLURM_ARRAY_TASK_ID": str(index), "PATH": "/bin:/usr/bin"}
        return subprocess.run(["/bin/sh", str(script)], env=told, capture_output=True, text=True, check=False)

    assert [run(index).stdout for index in (0, 1)] == [f"{A}\n", f"{B}\n"]
    assert run(2).returncode != 0


@pytest.mark.parametrize("words", ["", "x", "../../etc 1", f"{C} one", f"{C}"])
def test_a_place_that_makes_no_sense_is_none(arrays: JobArrays, tmp_path: Path, words: str) -> None:
    (tmp_path / "the spool" / A / "array").write_text(words)
    assert arrays.element_of(A) is None


def test_alike_are_together_and_the_others_alone() -> None:
    found = array_groups({"a": "x", "b": None, "c": "y", "d": "x", "e": None, "f": "x"}, 2)
    assert sorted(found) == [["a", "d"], ["b"], ["c"], ["e"], ["f"]]


@given(st.lists(st.sampled_from([None, ("x",), ("y",)]), max_size=20), st.integers(1, 5))
def test_everybody_is_in_one_group(shapes: list[tuple[str, ...] | None], most: int) -> None:
    named = {str(place): shape for place, shape in enumerate(shapes)}
    found = array_groups(named, most)
    assert sorted(name for group in found for name in group) == sorted(named)
    assert all(len(group) <= most and len({named[name] for name in group}) == 1 for group in found)
