"""What is handed to HTCondor: nothing that a user wrote may become submit language or shell."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import Launch
from cosched.errors import UserError
from cosched_condor.settings import CondorSettings
from cosched_condor.submission import describe

if TYPE_CHECKING:
    from cosched_condor.attempts import Attempts

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
