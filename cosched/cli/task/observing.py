"""A task that is to be watched gets the library for it into its folder.

Start at `watching_variables`. `cosched model observe --collect` reads what they leave.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from cosched.errors import UserError
from cosched.measurement.programs.observing import task_library
from cosched.measurement.programs.watching import LIBRARY, SHIM_VARIABLE

__all__ = ["watching_variables"]

_FOLDER = "observed"


def watching_variables(directory: str) -> tuple[dict[str, str], str]:
    """Return the variables of a task that is watched, with a remark on what is not seen; empty for none.

    The folder `observed` is made where it runs, or here for an application that runs in a place of its own.

    Args:
        directory: where it runs; empty for a place of its own.

    Raises:
        UserError: there can be no such folder, or no compiler makes the library.
    """
    folder = Path(directory).absolute() / _FOLDER
    if any(character.isspace() or character == ":" for character in str(folder)):
        raise UserError(
            f"--observe: {folder} has a space or a colon, so that no library is loaded from it: run elsewhere"
        )
    library, remark = task_library()
    if library is None:
        raise UserError(
            "--observe: there is no C compiler here, which makes what watches programs: install cc or mpicc"
        )
    try:
        folder.mkdir(exist_ok=True)
        target = folder / LIBRARY
        if not target.exists() or target.read_bytes() != library.read_bytes():
            _put(library, target)
    except OSError as error:
        raise UserError(
            f"--observe: {folder} cannot be written ({error.strerror}): run it in a folder of yours"
        ) from error
    return {SHIM_VARIABLE: str(folder)}, remark


def _put(library: Path, target: Path) -> None:
    """Put a library where running programs may have the one before."""
    handle, name = tempfile.mkstemp(prefix=f".{LIBRARY}.", dir=target.parent)
    os.close(handle)
    shutil.copyfile(library, name)
    Path(name).chmod(0o755)
    Path(name).replace(target)
