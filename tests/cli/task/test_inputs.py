from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from cosched.cli.task.inputs import unread_input, with_files
from cosched.connector.values import NativeDescription
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def request_(tmp_path: Path) -> TaskRequest:
    (tmp_path / "solve").write_text("#!/bin/sh\n")
    (tmp_path / "solve").chmod(0o755)
    for name, size in (("cube.dat", 70), ("ball.dat", 90), ("old.log", 5)):
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "step.py").write_text("pass\n")
    return TaskRequest(command=(str(tmp_path / "solve"), "cube.dat", "12", "-o", "old.log"), directory=str(tmp_path))


def test_files_of_the_command_are_measured(request_: TaskRequest) -> None:
    assert with_files(request_).file_sizes == {"cube.dat": 70}
    assert with_files(replace(request_, directory="/")).file_sizes == {}


def test_standard_input_and_named_inputs_are_measured(request_: TaskRequest, tmp_path: Path) -> None:
    stdin, named = (str(tmp_path / name) for name in ("cube.dat", "ball.dat"))
    found = with_files(replace(request_, command=request_.command[:1], stdin=stdin), [named])
    assert found.file_sizes == {stdin: 70, named: 90}
    with pytest.raises(UserError, match="--input gone: there is no such file"):
        with_files(request_, ["gone"])


def test_parameters_may_name_files(tmp_path: Path, request_: TaskRequest) -> None:
    assert request_.command
    mesh = str(tmp_path / "ball.dat")
    asked = TaskRequest(application="heat", parameters={"mesh": mesh, "steps": 3.0})
    assert with_files(asked).file_sizes == {mesh: 90}


@pytest.mark.parametrize("changed", ["solve", "step.py"])
def test_a_changed_program_has_another_digest(request_: TaskRequest, tmp_path: Path, changed: str) -> None:
    asked = replace(request_, command=(*request_.command, "step.py"))
    before = with_files(asked)
    assert "step.py" not in before.file_sizes
    assert with_files(asked).program_digest == before.program_digest != ""
    (tmp_path / "ball.dat").write_text("no program")
    assert with_files(asked).program_digest == before.program_digest
    (tmp_path / changed).write_text("another program")
    assert with_files(asked).program_digest != before.program_digest


def test_the_text_of_a_users_own_script_is_its_program() -> None:
    digests = [
        with_files(TaskRequest(native=NativeDescription("slurm", script=script))).program_digest
        for script in ("#!/bin/sh\n#SBATCH -N 1\nsrun a", "#!/bin/sh\n#SBATCH -N 2\nsrun a", "#!/bin/sh\nsrun b", "")
    ]
    assert digests[0] == digests[1] != digests[2]
    assert digests[3] == ""


def test_words_that_nobody_reads_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("one\ntwo\n")
    (tmp_path / "empty").touch()
    reader, writer = os.pipe()
    nothing = unread_input(reader)
    os.write(writer, b"one")
    found = {"empty pipe": nothing, "pipe": unread_input(reader)}
    os.close(reader)
    found["closed"] = unread_input(reader)
    os.close(writer)
    for name, read in (("words", 0), ("words", 4), ("empty", 0), ("/dev/null", 0)):
        with (tmp_path / name).open("rb", buffering=0) as file:
            file.read(read)  # as a loop that reads lines has, when it submits a task for the first
            found[f"{name} from {read}"] = unread_input(file.fileno())
    assert found == {
        "empty pipe": False,
        "pipe": True,
        "closed": False,
        "words from 0": True,
        "words from 4": False,
        "empty from 0": False,
        "/dev/null from 0": False,
    }
