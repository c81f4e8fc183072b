from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("replay")  # its tests share one daemon's recording


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved recording of a daemon that dispatched two tasks and kept one waiting."""
    folder = tmp_path_factory.mktemp("recording")
    with serving(folder, hosts=8, staging=0.0) as (_, address), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COSCHED_SERVER", address)
        for name in ("merger", "merger", "merger"):
            assert run(["task", "submit", "halving", "--hosts", "4", "--name", name, "--deadline", "now+1h"]) == 0
        assert run(["domain", "record", str(folder / "saved.jsonl")]) == 0
    return folder / "saved.jsonl"


def test_what_was_decided_is_told_with_its_reason(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(recording)]) == 0
    text = capsys.readouterr().out
    assert "submitted task 1\n  dispatch task 1 on h01,h02,h03,h04\n  task 1 is dispatching\n" in text
    assert "deadline:      met with" in text
    assert text.endswith(" events replayed as cosched 0.1.0 recorded them\n")


def test_one_task_is_followed(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(recording), "--task", "3"]) == 0
    text = capsys.readouterr().out
    assert "task 3 is queued\n  it waits for:  on hosts it will use: 1 (" in text
    assert "dispatch task 1" not in text
    assert run(["replay", str(recording), "--task", "99"]) == 1
    assert "knows no task '99'" in capsys.readouterr().err


def test_a_moment_is_explained(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(recording), "--at", "4e9"]) == 0
    text = capsys.readouterr().out
    assert [f"task {number} is" in text for number in (1, 2, 3)] == [True] * 3
    assert "submitted" not in text


@pytest.mark.parametrize("text", ["noon", "nan", "inf", "-inf", "-5", "1732800123456", "1e300", "9999-12-31T23:59:59"])
def test_what_is_no_moment_is_refused(recording: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(recording), f"--at={text}"]) == 1
    assert f"--at '{text}' is no time" in capsys.readouterr().err


def test_json_holds_every_event_shown(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(recording), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["differs"] is None
    assert [each["decided"] for each in document["shown"] if each["event"] == "submitted task 1"] == [
        ["dispatch task 1 on h01,h02,h03,h04"]
    ]


def test_the_first_event_that_goes_another_way_is_named(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = recording.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if "dispatch task 2" in line)
    document = json.loads(lines[place])
    document["event"]["task"]["profile"]["seconds"] = ["inf", 5.0]
    changed = tmp_path / "changed.jsonl"
    changed.write_text("\n".join([*lines[:place], json.dumps(document), *lines[place + 1 :]]))
    assert run(["replay", str(changed)]) == 2
    error = capsys.readouterr().err
    assert "differs at event" in error
    assert "recorded by cosched 0.1.0: dispatch task 2 on h05,h06,h07,h08; this is cosched 0.1.0: dispatch" in error
    assert run(["replay", str(changed), "--json"]) == 2
    assert "differs at event" in json.loads(capsys.readouterr().out)["differs"]


def test_a_file_cut_short_is_replayed_as_far_as_it_goes(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text(recording.read_text()[:-9])
    assert run(["replay", str(cut)]) == 0
    said = capsys.readouterr()
    assert "this line is cut short and left out" in said.err
    assert "events replayed" in said.out


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear cosched,\n")
    assert run(["replay", str(file)]) == 1
    assert (
        capsys.readouterr().err
        == f"cosched: {file} is not a recording: give a file that `cosched domain record` has saved\n"
    )
    assert run(["replay", str(tmp_path / "gone")]) == 1
    assert "cannot be read: No such file" in capsys.readouterr().err
