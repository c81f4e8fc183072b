"""Jobs whose comments were written anew while they ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched_slurm.jobs import commented_uuid, job_comment, job_records
from cosched_slurm.spool import SlurmAttemptFolders
from cosched_slurm.stamped_jobs import with_stamped_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ATTEMPT, ELEMENT, ARRAY = (f"12345678-1234-1234-1234-12345678900{number}" for number in (1, 2, 3))


@pytest.fixture
def folders(tmp_path: Path) -> SlurmAttemptFolders:
    folders = SlurmAttemptFolders(tmp_path / "spool")
    for name in (ATTEMPT, ELEMENT, ARRAY):
        folders.create(name)
    for rank in (0, 1):
        (folders.folder(ATTEMPT) / f"began.{rank}").write_text(f"901.5 7 2 n{rank}\n")
    (folders.folder(ELEMENT) / "began.0").write_text("901.5 9_1 1 n3\n")
    return folders


def _attempts_of(name: str) -> Sequence[str]:
    return ("none", ELEMENT) if name == ARRAY else ()


def _row(folders: SlurmAttemptFolders, name: str, number: int, **more: Any) -> dict[str, Any]:
    place = str(folders.folder(name))
    return {"job_id": number, "job_state": "RUNNING", "current_working_directory": place, "comment": "step 3", **more}


def test_a_job_that_runs_is_known_whatever_its_comment_says_meanwhile(folders: SlurmAttemptFolders) -> None:
    """Its attempt counted as lost after a minute and a half, and its task was run a second time beside it."""
    rows = [_row(folders, ATTEMPT, 7), _row(folders, ARRAY, 11, array_job_id=9, array_task_id=1)]
    found = job_records(with_stamped_names(rows, folders, _attempts_of), _attempts_of)
    assert {(record.attempt, record.job, record.count) for name in (ATTEMPT, ELEMENT) for record in found[name]} == {
        (ATTEMPT, "7", 2),
        (ELEMENT, "9_1", 1),
    }


def test_a_job_that_an_attempt_itself_has_submitted_is_not_taken_for_it(folders: SlurmAttemptFolders) -> None:
    rows = [
        _row(folders, ATTEMPT, 8),
        _row(folders, ARRAY, 12, array_job_id=12, array_task_id=1),
        _row(folders, ARRAY, 13),
        _row(folders, ARRAY, 9, array_job_id=9, array_task_id=99),
        {**_row(folders, ATTEMPT, 7), "current_working_directory": "/elsewhere"},
        {"job_id": 7},
    ]
    assert with_stamped_names(rows, folders, _attempts_of) == rows


def test_a_comment_that_names_an_attempt_stands(folders: SlurmAttemptFolders) -> None:
    row = _row(folders, ATTEMPT, 7, comment=job_comment(ELEMENT, 1))
    (found,) = with_stamped_names([row], folders, _attempts_of)
    assert commented_uuid(found) == ELEMENT
