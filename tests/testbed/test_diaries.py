"""The checker finds what it is for."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.testbed.diaries import DIARY, Entry, overfilled, read_diary
from tests.testbed.node_size import NodeSize

if TYPE_CHECKING:
    from pathlib import Path

_NODE = NodeSize(8, 1000, 2)
_ONE = Entry("a", "one", 0.0, 10.0, 4, 500, 1, frozenset("0"))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"cores": 5}, "9 of 8 cores"),
        ({"memory": 501}, "1001 of 1000 MiB"),
        ({"gpus": 2}, "3 of 2 GPUs"),
        ({"devices": frozenset("01")}, "a device to two jobs"),
        ({"cores": 8, "host": "b"}, ""),
        ({"cores": 8, "began": 10.0}, ""),
    ],
)
def test_a_host_that_had_too_much_is_found(change: dict[str, object], fault: str) -> None:
    two = replace(replace(_ONE, job="two", began=5.0, ended=12.0, devices=frozenset("1")), **change)  # type: ignore[arg-type]
    faults = overfilled([_ONE, two], _NODE)
    assert [fault in each for each in faults] == ([True] if fault else [])


def test_a_process_writes_what_the_manager_gave_it(tmp_path: Path) -> None:
    script, diary = tmp_path / "diary.sh", tmp_path / "diary"
    script.write_text(DIARY)
    given = {"SLURMD_NODENAME": "n1", "SLURM_CPUS_ON_NODE": "8", "CUDA_VISIBLE_DEVICES": "0,3", "COSCHED_RANK": "1"}
    subprocess.run(["/bin/sh", script, diary, "mine", "0", "500", "2"], check=True, env={"PATH": "/bin"} | given)
    (entry,) = read_diary(diary)
    assert (entry.host, entry.job, entry.cores, entry.memory, entry.gpus) == ("n1", "mine", 8, 500, 2)
    assert (entry.devices, entry.began <= entry.ended) == (frozenset("03"), True)
    diary.write_text(diary.read_text().splitlines()[0] + "\n")
    with pytest.raises(AssertionError, match="1 processes did not end"):
        read_diary(diary)
