"""What scripts ask of each host."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosched.connector import HostShare
from cosched.connector.userfiles import UserFileOrigin
from cosched.errors import UserError
from cosched_slurm.userfile import read

_HERE = UserFileOrigin(Path("/work"), {}, "job.sh")


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ("--time=5", HostShare()),
        ("--ntasks=4 --cpus-per-task=2", HostShare(cores=8)),
        ("--nodes=2 --ntasks=4 --cpus-per-task=2 --mem=4G", HostShare(4096, 4)),
        ("--nodes=2-4 --ntasks-per-node=3 --mem-per-cpu=500", HostShare(1500, 3)),
        ("-c 8 --mem-per-cpu=1G", HostShare(8192, 8)),
        ("--overcommit -n 8 --mincpus=2", HostShare(cores=2)),
        ("--mem=1500K", HostShare(memory=2)),
        ("--gres=gpu:a100:2,tmp:5", HostShare(gpus=2)),
        ("--gres=gpu", HostShare(gpus=1)),
        ("--gpus-per-node=v100:1,a100:2", HostShare(gpus=3)),
        ("--gpus=2", HostShare(gpus=2)),
        ("--nodes=2 --ntasks-per-node=2 --gpus-per-task=1", HostShare(cores=2, gpus=2)),
    ],
)
def test_needs_are_those_of_one_host(options: str, needs: HostShare) -> None:
    (job,) = read(f"#!/bin/sh\n#SBATCH {options}\ntrue\n", _HERE)
    assert job.needs == needs
    assert not job.whole_hosts


@pytest.mark.parametrize(
    "options", ["--exclusive", "--exclusive=user", "--mem=0", "--nodes=2 --gpus=3", "--ntasks-per-socket=2", "-B 2:4:1"]
)
def test_hosts_are_whole_where_the_script_says_so_or_slurm_alone_knows(options: str) -> None:
    (job,) = read(f"#!/bin/sh\n#SBATCH {options}\ntrue\n", _HERE)
    assert job.whole_hosts


@pytest.mark.parametrize(
    ("option", "message"),
    [("--mem=much", "--mem=much is not a size of memory"), ("--cpus-per-task=two", "--cpus-per-task=two is not a num")],
)
def test_a_need_that_is_no_number_is_refused_with_its_option(option: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(f"#!/bin/sh\n#SBATCH {option}\ntrue\n", _HERE)
