"""Job arrays: several attempts leave as one job of Slurm's, one element each.

All elements have the same options, nodes too, so only attempts without hosts can share an array. The array's folder in
the spool, named by the UUID in the job's comment, lists its attempts by index: so elements are known after a restart.
"""

from __future__ import annotations

import shlex
import uuid
from typing import TYPE_CHECKING

from cosched.connector.launches import check_attempt
from cosched.connector.spool import read_job_file
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from cosched.connector import Launch
    from cosched_slurm.spool import SlurmAttemptFolders

__all__ = ["JobArrays", "array_groups"]

_ATTEMPTS_FILE, _ELEMENT_FILE = "attempts", "array"
_LONGEST_LIST = 1 << 20  # bytes; a UUID a line, and no array has more than 10,000
_ELEMENT_SCRIPT = """\
#!/bin/sh
# One element of an array: the script of the attempt that has its line in the list.
attempt=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {list})
exec {spool}/"${{attempt:-none}}"/job.sh
"""


def array_groups(shapes: Mapping[str, Hashable | None], most: int) -> list[list[str]]:
    """Group attempts into arrays and single jobs.

    Args:
        shapes: by attempt; equal ones may share an array, None for a job of its own.
        most: elements of an array.
    """
    alike: dict[tuple[str, Hashable], list[str]] = {}
    for attempt, shape in shapes.items():
        alike.setdefault((attempt if shape is None else "", shape), []).append(attempt)
    return [same[start : start + most] for same in alike.values() for start in range(0, len(same), most)]


class JobArrays:
    """The arrays of a spool.

    Args:
        attempts: the spool.
    """

    def __init__(self, attempts: SlurmAttemptFolders) -> None:
        self._attempts = attempts
        self._known: dict[str, tuple[str, ...]] = {}

    def create(self, launches: Sequence[Launch]) -> str:
        """Record a new array of attempts with their scripts, and return its UUID.

        Raises:
            OSError: the spool cannot be written.
        """
        array = str(uuid.uuid4())
        self._attempts.create(array)
        names = tuple(launch.attempt for launch in launches)
        listed = self._attempts.write(array, _ATTEMPTS_FILE, "".join(f"{name}\n" for name in names))
        for index, name in enumerate(names):
            self._attempts.write(name, _ELEMENT_FILE, f"{array} {index}\n")
        spool = shlex.quote(str(self._attempts.root))
        self._attempts.write(array, "job.sh", _ELEMENT_SCRIPT.format(list=shlex.quote(str(listed)), spool=spool))
        self._known[array] = names
        return array

    def attempts_of(self, array: str) -> tuple[str, ...]:
        """Return the attempts of an array, by index; () for an array of another spool."""
        if array not in self._known:
            try:
                listed = read_job_file(self._attempts.folder(array) / _ATTEMPTS_FILE, _LONGEST_LIST)
            except OSError:
                return ()
            if listed is None:
                return ()
            self._known[array] = tuple(listed.split())
        return self._known[array]

    def element_of(self, attempt: str) -> tuple[str, int] | None:
        """Return the array and index of an attempt; None for a separate job."""
        try:
            array, index = (read_job_file(self._attempts.folder(attempt) / _ELEMENT_FILE) or "").split()
            check_attempt(array)
            return array, int(index)
        except (OSError, ValueError, UserError):
            return None

    def remove_element(self, attempt: str) -> None:
        """Note that an attempt is submitted as a job of its own.

        Raises:
            OSError: the spool cannot be written.
        """
        (self._attempts.folder(attempt) / _ELEMENT_FILE).unlink(missing_ok=True)
