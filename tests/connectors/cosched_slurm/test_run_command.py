from __future__ import annotations

import re
import time

import pytest

from cosched_slurm.commands import run_command


def test_all_of_a_commands_output_and_words_come_back_with_its_code() -> None:
    done = run_command(["/bin/sh", "-c", "seq 100000; echo ' a\n b ' >&2; exit 3"], {"PATH": "/usr/bin:/bin"}, 20.0)
    assert (done.code, done.error_text, done.interrupted) == (3, "a b", False)
    assert done.output.endswith("\n100000\n")


def test_a_command_is_ended_at_the_words_that_are_waited_for() -> None:
    began = time.monotonic()
    done = run_command(
        ["/bin/sh", "-c", "echo no >&2; echo wait >&2; exec sleep 60"],
        {"PATH": "/usr/bin:/bin"},
        30.0,
        re.compile(rb"^wait$", re.MULTILINE),
    )
    assert done.interrupted
    assert 0.0 < done.seconds <= time.monotonic() - began < 30.0


@pytest.mark.parametrize("script", ["exec sleep 60", "exec sleep 60 >&- 2>&-", "sleep 60 & exit 0"])
def test_a_command_that_takes_too_long_is_ended(script: str) -> None:
    with pytest.raises(TimeoutError):
        run_command(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, 0.2)


def test_a_command_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_command(["/nowhere/sbatch"], {}, 1.0)
