"""A daemon starts with the resource manager that has the jobs of its live attempts. Start at `check_jobs_home`.

Any other one would not know these jobs: they would be taken for lost, and their tasks would run twice.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["check_jobs_home"]


def check_jobs_home(file: Path, home: str, live: Callable[[], int]) -> None:
    """Refuse another manager than the one that has jobs of live attempts; write down which one is used from now on.

    Args:
        file: in the state folder; says which one the last daemon used. Without it none is refused.
        home: the manager that is configured, and where it keeps jobs.
        live: returns how many attempts are live; asked only where the manager is another one.

    Raises:
        UserError: another manager has jobs of live attempts.
        SystemFault: the file cannot be read or written.
    """
    try:
        known = file.read_text(encoding="utf-8").strip() if file.exists() else ""
        if known == home:
            return
        if known and (jobs := live()):
            raise UserError(
                f"{plural(jobs, 'job')} of this domain may still run with {known}, and [connector] now names {home}, "
                "which does not know them, so that their tasks would run twice: start with the former until they have "
                f"ended or are cancelled; where both are the same, or the former is gone for good, remove {file}"
            )
        aside = file.with_name(f"{file.name}.new")
        with aside.open("w", encoding="utf-8") as writing:
            writing.write(f"{home}\n")
            writing.flush()
            os.fsync(writing.fileno())
        aside.replace(file)
    except (OSError, UnicodeDecodeError) as error:
        raise SystemFault(f"{file} cannot be used ({error}): look at its folder and disk") from error
