"""Jobs that have begun and whose comment is no longer cosched's: start at `with_stamped_names`.

Whoever owns a job may write its comment while it runs, as scripts do to show how far they are. Its attempt would be
unknown then, and its task run a second time beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.connector.spool import is_attempt_folder
from cosched_slurm.jobs import commented_uuid, job_comment, plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched_slurm.spool import SlurmAttemptFolders

__all__ = ["with_stamped_names"]


def with_stamped_names(
    rows: Iterable[Mapping[str, Any]], folders: SlurmAttemptFolders, attempts_of: Callable[[str], Sequence[str]]
) -> list[Mapping[str, Any]]:
    """Return the jobs; each that an attempt's stamps name has the comment again that cosched gave it.

    Stamps hold the job's number, which a job that the attempt's own program has submitted from its folder has not.

    Args:
        rows: jobs in Slurm's JSON of any version.
        folders: the spool.
        attempts_of: returns the attempts of an array, by index.
    """
    return [row if commented_uuid(row) else _named(row, folders, attempts_of) for row in rows]


def _named(
    row: Mapping[str, Any], folders: SlurmAttemptFolders, attempts_of: Callable[[str], Sequence[str]]
) -> Mapping[str, Any]:
    parent, _, name = str(row.get("current_working_directory") or "").rpartition("/")
    if parent != str(folders.root) or not is_attempt_folder(name):
        return row
    elements = attempts_of(name)
    number, array, index = (plain_number(row.get(key)) for key in ("job_id", "array_job_id", "array_task_id"))
    if number is None or (elements and not (array and index is not None and index < len(elements))):
        return row
    attempt = elements[int(index or 0)] if elements else name
    stamps = folders.stamps(attempt)
    if stamps.job != (f"{int(array or 0)}_{int(index or 0)}" if elements else str(int(number))):
        return row
    return {**row, "comment": job_comment(name, stamps.count, array=bool(elements))}
