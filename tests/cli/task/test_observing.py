from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.client import Client
from cosched.errors import UserError
from cosched.measurement.programs.watching import LIBRARY, SHIM_VARIABLE
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.api.documents import ApplicationView


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    library = tmp_path / "made.so"
    library.write_bytes(b"a library")
    monkeypatch.setattr("cosched.cli.task.observing.task_library", lambda: (library, "what is not seen"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with serving(tmp_path) as (_, address), Client(address) as client:
        monkeypatch.setenv("COSCHED_SERVER", address)
        yield client


def _submit(*words: str) -> int:
    return run(["task", "submit", "--observe", *words])


def test_a_task_is_given_the_folder_with_the_library(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _submit("--set", "n=40", "--env", "A=1", "--profile", "5", "--", "/bin/true", "40") == 0
    assert capsys.readouterr().err == "cosched: what is not seen\n"
    folder = tmp_path / "here" / "observed"
    assert [each.name for each in folder.iterdir()] == [LIBRARY]
    assert (folder / LIBRARY).read_bytes() == b"a library"
    task = client.task("1")
    assert task.environment == {"A": "1", SHIM_VARIABLE: str(folder)}
    assert (task.command, dict(task.parameters)) == (("/bin/true", "40"), {"n": 40.0})
    again = client.resubmit("1")
    assert dict(client.task(again.id).parameters) == {"n": 40.0}


def test_each_task_of_an_array_is_watched(client: Client, tmp_path: Path) -> None:
    (tmp_path / "made.so").write_bytes(b"a newer library")
    assert _submit("--profile", "5", "--array", "1-2", "--", "/bin/true") == 0
    folder = tmp_path / "here" / "observed"
    assert [client.task(name).environment[SHIM_VARIABLE] for name in ("1", "2")] == [str(folder)] * 2
    assert len({tuple(client.task(name).environment.items()) for name in ("1", "2")}) == 2  # TASK_INDEX is each one's
    assert (folder / LIBRARY).read_bytes() == b"a newer library"


def test_an_application_of_the_catalogue_may_always_be_watched(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = client.applications()
    assert not any(entry.observe for entry in entries)
    watched = [dataclasses.replace(entry, observe=entry.name == "halving") for entry in entries]

    def applications(_client: Client) -> list[ApplicationView]:
        return watched

    monkeypatch.setattr(Client, "applications", applications)
    for name in ("halving", "plain"):
        assert run(["task", "submit", name]) == 0
    assert client.task("1").environment[SHIM_VARIABLE] == str(tmp_path / "here" / "observed")
    assert SHIM_VARIABLE not in client.task("2").environment


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "n=many", "--", "/bin/true"), "n is 'many': an observed command's parameters are numbers"),
        (("--set", "n=nan", "--", "/bin/true"), "n is 'nan': an observed command's parameters are numbers"),
        (("--set", "a-b=1", "--", "/bin/true"), "'a-b' cannot name a parameter: use letters, digits and '_'"),
        (("--file", "job.sh"), "--observe goes with an application or a command: a file says itself"),
        (("--directory", "a b", "--", "/bin/true"), "has a space or a colon, so that no library is loaded from it"),
        (("--directory", "/proc", "--", "/bin/true"), "--observe: /proc/observed cannot be written (No such file"),
    ],
)
@pytest.mark.usefixtures("client")
def test_what_is_wrong_is_said_in_a_line(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a b").mkdir()
    assert _submit(*words) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert said in line


def test_without_a_compiler_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cosched.cli.task.observing import watching_variables

    monkeypatch.setattr("cosched.cli.task.observing.task_library", lambda: (None, ""))
    with pytest.raises(UserError, match="there is no C compiler here, which makes what watches programs"):
        watching_variables(str(tmp_path))
