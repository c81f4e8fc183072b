"""The figures of a run: printed as they come, and kept in a file row by row, so that nothing of a long run is lost."""

from __future__ import annotations

import json
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Figures"]

_PACKAGES = ("numpy", "numba", "deap", "pymoo", "ortools", "highspy")


class Figures:
    """What was measured, by section and row, with the circumstances of each section.

    Attributes:
        clock: of the search's budgets, seconds.
    """

    def __init__(self, file: Path | None = None, *, processor_time: bool = False) -> None:
        """Go on with a file of before, if there is one: sections that are measured again replace those there."""
        self.clock = time.thread_time if processor_time else time.perf_counter
        self._file = file
        self._sections: dict[str, Any] = {}
        if file is not None and file.exists():
            self._sections = json.loads(file.read_text())
        self._rows: dict[str, Any] = {}

    @property
    def processor_time(self) -> bool:
        """Whether budgets are in processor time."""
        return self.clock is time.thread_time

    def circumstances(self) -> dict[str, str | float]:
        """Return what a figure depends on beside the code."""
        return {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "budgets": "processor time" if self.processor_time else "wall-clock time",
            "load": round(os.getloadavg()[0], 1),
            "versions": ", ".join(
                [f"Python {platform.python_version()}", *(f"{each} {_version(each)}" for each in _PACKAGES)]
            ),
        }

    def section(self, name: str, heading: str) -> None:
        """Begin a section: its rows follow."""
        print(f"\n{heading}", flush=True)
        self._rows = {}
        self._sections[name] = {"circumstances": self.circumstances(), "heading": heading, "rows": self._rows}

    def row(self, name: str, line: str, **values: float | None) -> None:
        """Print a row and keep it with its values."""
        print(line, flush=True)
        self._rows[name] = {"line": line, **values}
        if self._file is not None:
            scratch = self._file.with_suffix(".new")
            scratch.write_text(json.dumps(self._sections, indent=1, ensure_ascii=False) + "\n")
            scratch.replace(self._file)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
