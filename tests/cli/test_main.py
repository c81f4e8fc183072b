from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.version import __version__

if TYPE_CHECKING:
    from pathlib import Path


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
from cosched.version import __version__
run(sys.argv[1:])
slow = ("numpy", "numba", "sqlalchemy", "fastapi", "deap", "lark")
print([name for name in slow if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.daemon
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["host", "list", "--server", "unix:/nowhere"],
        ["serve", "--config", "/nowhere"],  # told before the daemon is read
        ["task", "--help"],
    ],
)
def test_a_command_loads_only_what_it_needs(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTED, *words], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.daemon
def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m cosched.cli.main config show | head -n 1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.split(), done.stderr) == (["KEY", "VALUE"], "")


@pytest.mark.daemon
@pytest.mark.parametrize("words", ["config show", "--version"])
def test_an_output_that_has_no_room_is_told_in_one_line(words: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m cosched.cli.main {words} > /dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("cosched: the output cannot be written (No space left on device)")
    assert done.stderr.count("\n") == 1


@pytest.mark.daemon
@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1", "utf-8"])
def test_a_terminal_of_few_characters_is_told_all(encoding: str, tmp_path: Path) -> None:
    """A task that is late ended `task list` with a traceback on a terminal of ISO 8859-1, which has no minus sign."""
    file = tmp_path / "ü−1.toml"
    file.write_text("[planning]\nseed = 1\n")
    found = []
    for words in (["--origin"], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "cosched.cli.main", "config", "show", "--config", str(file), *words],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.decode(encoding))
    assert str(file) in {each["origin"] for each in json.loads(found[1])}
    assert ("−1.toml" if encoding == "utf-8" else "\\u22121.toml") in found[0]


def test_an_error_is_one_line_whatever_a_file_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "no\nfile"]) == 1
    assert capsys.readouterr().err == "cosched: no\\nfile: cannot be read: No such file or directory\n"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"cosched {__version__}\n"


@pytest.mark.daemon
@pytest.mark.parametrize(
    ("line", "words"),
    [("cosched ta", ["task"]), ("cosched task su", ["submit"]), ("cosched task submit --dead", ["--deadline"])],
)
def test_bash_completes_nouns_verbs_and_options(line: str, words: list[str]) -> None:
    assert completed(line) == words


@pytest.mark.daemon
def test_a_shell_completes_nothing_where_no_daemon_answers() -> None:
    assert completed("cosched task show ") == []


def completed(line: str) -> list[str]:
    """Return what bash would offer at the end of a line, by the script that `--show-completion` prints."""
    asks = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_COSCHED_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", "from cosched.cli.main import main; main()"]
    environment = {**os.environ, **asks, "COSCHED_SERVER": "unix:/nowhere"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return done.stdout.split()
