"""What is handed to HTCondor: nothing that a user wrote may become submit language or shell."""

from __future__ import annotations

import stat
import subprocess
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import Launch
from cosched.errors import UserError
from cosched_condor.attempts import Attempts
from cosched_condor.settings import CondorSettings
from cosched_condor.submission import describe

if TYPE_CHECKING:
    from pathlib import Path

_BAD = (
    "1\ninclude command : touch /tmp/x",
    "10\nqueue 500",
    "$ENV(PATH)",
    "$$(Memory)",
    '" || true',
    "a\u202eb",
    "\ud800",
)


def _launch(*command: str, hosts: tuple[str, ...] = ("node01", "node02")) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command or ("/bin/true",), hosts=hosts, count=len(hosts) or 2)


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    spool = tmp_path / "spool"
    attempts = Attempts(spool)
    attempts.prepare()
    return attempts


def _describe(attempts: Attempts, launch: Launch) -> tuple[str, list[dict[str, str]]]:
    return describe(launch, CondorSettings.read({"spool": str(attempts.root)}), attempts)


def test_a_group_is_pinned(attempts: Attempts) -> None:
    text, items = _describe(attempts, _launch())
    assert 'requirements = TARGET.Machine == "$(CoschedHost)"' in text
    assert items == [{"CoschedHost": "node01"}, {"CoschedHost": "node02"}]


def test_without_hosts_nothing_is_pinned(attempts: Attempts) -> None:
    text, items = _describe(attempts, _launch(hosts=()))
    assert "requirements" not in text
    assert items == []


def test_the_uuid_travels_with_the_job_and_in_the_log(attempts: Attempts) -> None:
    launch = _launch()
    text, _ = _describe(attempts, launch)
    assert f'My.CoschedAttempt = "{launch.attempt}"' in text
    assert f"submit_event_notes = cosched {launch.attempt} 2" in text


def test_a_time_limit_is_whole_seconds(attempts: Attempts) -> None:
    text, _ = _describe(attempts, replace(_launch(), time_limit=1.2))
    assert "JobCurrentStartDate > 2\n" in text
    assert "periodic_remove" not in _describe(attempts, _launch())[0]


def test_each_line_is_one_command(attempts: Attempts) -> None:
    text, _ = _describe(attempts, replace(_launch(), directory="/with space", time_limit=3.0))
    assert all(" = " in line for line in text.splitlines())


@pytest.mark.parametrize("value", _BAD)
@pytest.mark.parametrize("place", ["name", "task", "directory", "hosts"])
def test_values_that_are_submit_language_are_refused(attempts: Attempts, place: str, value: str) -> None:
    launch = replace(_launch(hosts=("node01",)), count=1)
    bad = replace(launch, hosts=(value,)) if place == "hosts" else replace(launch, **{place: value})  # type: ignore[arg-type]  # the place is one of text
    with pytest.raises(UserError):
        _describe(attempts, bad)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4),
    st.text("ab\n'\"$`\\ "),
)
def test_arguments_and_environment_pass_the_shell_unchanged(attempts: Attempts, words: list[str], value: str) -> None:
    command = ("/bin/sh", "-c", 'printf "%s\\0" "$MINE" "$@"', "sh", *words)
    launch = replace(_launch(*command), environment={"MINE": value})
    attempts.create(launch.attempt)
    output = subprocess.run([attempts.write_script(launch)], capture_output=True, check=True).stdout
    assert output == b"".join(word.encode() + b"\0" for word in (value, *words))


def test_the_script_shows_the_place_and_not_anothers(attempts: Attempts) -> None:
    launch = replace(_launch("/usr/bin/env"), environment={"COSCHED_RANK": "9", "COSCHED_TASK": "x"})
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    output = subprocess.run([script], env={"COSCHED_RANK": "1"}, capture_output=True, text=True, check=True).stdout
    seen = dict(line.split("=", 1) for line in output.splitlines())
    assert seen["COSCHED_RANK"] == "1"
    assert (seen["COSCHED_TASK"], seen["COSCHED_HOSTS"], seen["COSCHED_HOST_COUNT"]) == ("17", "node01,node02", "2")


def test_a_fenced_attempt_does_not_begin(attempts: Attempts, tmp_path: Path) -> None:
    launch = _launch("/usr/bin/touch", str(tmp_path / "ran"))
    attempts.create(launch.attempt)
    script = attempts.write_script(launch)
    attempts.fence(launch.attempt)
    assert attempts.fenced(launch.attempt)
    assert subprocess.run([script], check=False).returncode == 143
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("program", ["-h", "--help"])
def test_a_program_that_looks_like_an_option_is_refused(attempts: Attempts, program: str) -> None:
    launch = _launch(program)
    attempts.create(launch.attempt)
    with pytest.raises(UserError, match="starts with '-'"):
        attempts.write_script(launch)


def test_an_attempt_has_one_folder(attempts: Attempts) -> None:
    assert attempts.create("a")
    assert not attempts.create("a")


@pytest.mark.parametrize("mode", [0o700, 0o770, 0o1777])
def test_folders_are_as_open_as_the_spool(attempts: Attempts, mode: int) -> None:
    attempts.root.chmod(mode)
    attempts.log.unlink()
    attempts.prepare()
    attempts.create("a")
    assert stat.S_IMODE(attempts.folder("a").stat().st_mode) == mode
    assert stat.S_IMODE(attempts.log.stat().st_mode) == mode & 0o666
