from __future__ import annotations

import subprocess
import sys

import pytest

from cosched.cli.main import run


def test_help_names_every_noun_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for word in ("task", "host", "config", "model", "plan", "serve"):
        assert word in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tsak"], "No such command 'tsak'"),
        (["--nope"], "No such option: --nope"),
        (["task", "lsit"], "No such command 'lsit'"),
        (["host", "list", "--nope"], "No such option: --nope"),
    ],
)
def test_wrong_usage_is_told_in_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"cosched: {message}")
    assert error.rstrip().endswith("--help')")
    assert error.count("\n") == 1


def test_a_noun_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["host"]) == 1
    captured = capsys.readouterr()
    assert "cosched host" in captured.out + captured.err


_IMPORTED = """
import sys
from cosched.cli.main import run
run(sys.argv[1:])
slow = ("numpy", "numba", "sqlalchemy", "fastapi", "deap", "lark")
print([name for name in slow if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["host", "list", "--server", "unix:/nowhere"], ["task", "--help"]])
def test_a_command_loads_only_what_it_needs(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTED, *words], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m cosched.cli.main config show | head -n 1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.split(), done.stderr) == (["KEY", "VALUE"], "")


def test_an_error_is_one_line_whatever_a_file_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "no\nfile"]) == 1
    assert capsys.readouterr().err == "cosched: no\\nfile: cannot be read: No such file or directory\n"
