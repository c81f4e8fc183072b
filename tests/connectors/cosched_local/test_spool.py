"""What is on disk about attempts, read back; also what is torn, strange or missing."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import JobReport, JobState, Launch
from cosched_local.runner import write_durably, write_end
from cosched_local.spool import LocalSpool

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = Launch(str(uuid.uuid4()), "17", "jacobi", ("/bin/true",))
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@pytest.fixture
def files(spool: Path) -> LocalSpool:
    files = LocalSpool(spool)
    files.create()
    return files


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.lists(TEXT, min_size=1, max_size=4).map(tuple),
    hosts=st.lists(st.sampled_from("abcd"), unique=True).map(tuple),
    environment=st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), TEXT, max_size=3),
    limit=st.none() | st.floats(0.1, 1e9),
)
def test_a_launch_is_read_as_it_was_written(
    files: LocalSpool,
    command: tuple[str, ...],
    hosts: tuple[str, ...],
    environment: dict[str, str],
    limit: float | None,
) -> None:
    launch = replace(LAUNCH, command=command, hosts=hosts, environment=environment, time_limit=limit)
    files.write_launch(launch)
    assert files.launch(LAUNCH.attempt) == launch


def test_of_an_attempt_without_a_folder_nothing_is_known(files: LocalSpool) -> None:
    for read in (files.launch, files.claim, files.started, files.end, files.stop):
        assert read("no") is None
    assert files.runner_log_tail("no") == ""


def test_attempts_come_in_the_order_of_their_submission(files: LocalSpool) -> None:
    names = ["c", "a", "b"]
    for age, name in enumerate(names):
        files.write_launch(replace(LAUNCH, attempt=name))
        os.utime(files.folder(name) / "launch.json", (0, 1000 + age))
    assert files.attempts() == names


@pytest.mark.parametrize(("code", "state"), [(0, JobState.COMPLETED), (3, JobState.FAILED)])
def test_an_end_is_read_as_the_runner_wrote_it(files: LocalSpool, code: int, state: JobState) -> None:
    files.write_launch(LAUNCH)
    write_end(str(files.folder(LAUNCH.attempt)), state.value, started=5.5, finished=7.25, code=code, reason="why\nso")
    end = JobReport(LAUNCH.attempt, state, LAUNCH.attempt[:8], 5.5, 7.25, code, "why so")
    assert files.end(LAUNCH.attempt) == end


@pytest.mark.parametrize("torn", ["", "\n", "completed", "completed 1.0 2.0"])
def test_a_torn_end_is_no_end(files: LocalSpool, torn: str) -> None:
    files.write_launch(LAUNCH)
    (files.folder(LAUNCH.attempt) / "end").write_text(torn)
    assert files.end(LAUNCH.attempt) is None


def test_an_attempt_belongs_to_whoever_claims_it_first(files: LocalSpool) -> None:
    files.write_launch(LAUNCH)
    assert files.fence(LAUNCH.attempt)
    assert not files.fence(LAUNCH.attempt)
    assert sorted(path.name for path in files.folder(LAUNCH.attempt).iterdir()) == ["claim", "launch.json"]


def test_a_fence_ends_the_attempt_as_its_order_says(files: LocalSpool) -> None:
    files.write_stop(LAUNCH.attempt, JobState.REMOVED, "cancelled")
    files.fence(LAUNCH.attempt)
    end = files.end(LAUNCH.attempt)
    assert end is not None
    assert (end.state, end.reason) == (JobState.REMOVED, "cancelled")


def test_the_first_order_stands_save_that_a_cancel_outdoes_an_eviction(files: LocalSpool) -> None:
    files.write_stop("a", JobState.EVICTED, "host lost")
    files.write_stop("a", JobState.REMOVED, "cancelled")
    files.write_stop("a", JobState.EVICTED, "host lost again")
    assert files.stop("a") == (JobState.REMOVED, "cancelled")
    files.write_stop("b", JobState.EVICTED, "first")
    files.write_stop("b", JobState.EVICTED, "second")
    assert files.stop("b") == (JobState.EVICTED, "first")


def test_a_cancel_does_not_change_an_end_that_was_none_of_its_doing(files: LocalSpool) -> None:
    files.write_launch(LAUNCH)
    files.write_end(LAUNCH.attempt, JobState.FAILED, "exit code 1")
    files.write_stop(LAUNCH.attempt, JobState.REMOVED, "cancelled")
    end = files.end(LAUNCH.attempt)
    assert end is not None
    assert end.state is JobState.FAILED


def test_an_end_written_after_the_clock_was_set_back_is_not_before_its_start(files: LocalSpool) -> None:
    files.write_launch(LAUNCH)
    (files.folder(LAUNCH.attempt) / "started").write_text("99999999999.0\n")
    end = files.write_end(LAUNCH.attempt, JobState.EVICTED, "lost")
    assert end.finished == end.started == 99999999999.0


def test_the_last_words_of_a_runner_are_its_last_line_that_says_something(files: LocalSpool) -> None:
    files.write_launch(LAUNCH)
    (files.folder(LAUNCH.attempt) / "runner.log").write_bytes(b"Traceback\nOSError: gr\xfc\xdfe\n\n  \n")
    assert files.runner_log_tail(LAUNCH.attempt) == "OSError: gr\ufffd\ufffde"


def test_a_host_is_off_whatever_its_marker_is(files: LocalSpool) -> None:
    (files.root / "offline" / "a").write_text("new memory\nand more\n")
    (files.root / "offline" / "b").touch()
    (files.root / "offline" / "c").mkdir()
    off = files.offline()
    assert off["a"] == "new memory"
    assert "remove" in off["b"]
    assert str(files.root / "offline" / "c") in off["c"]


def test_only_attempts_that_ended_long_ago_are_deleted(files: LocalSpool) -> None:
    for name in ("old", "young", "running", "unseen"):
        files.write_launch(replace(LAUNCH, attempt=name))
        if name != "running":
            files.write_end(name, JobState.COMPLETED, "")
        if name != "young":
            os.utime(files.folder(name), (0, 1000.0))
    files.prune(2000.0, ["running", "unseen"])
    assert sorted(files.attempts()) == ["running", "unseen", "young"]
    files.prune(2000.0)
    assert sorted(files.attempts()) == ["running", "young"]


def test_a_file_that_the_system_takes_in_pieces_is_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up takes a part and says no error; half a launch would keep the next daemon from starting."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:3]))
    write_durably(str(tmp_path / "file"), "more than three")
    assert (tmp_path / "file").read_text() == "more than three"


def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_durably("/dev/full", "x")
