"""The figures of a run: printed as they come, and kept in a folder part by part, so that a long run can be resumed."""

from __future__ import annotations

import json
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

__all__ = ["Figures", "add_keep_option", "kept_sections"]

_PACKAGES = ("numpy", "numba", "deap", "pymoo", "ortools", "highspy")


class Figures:
    """What was measured, by section and row, with the circumstances of each section; a part has some sections.

    Attributes:
        clock: of the search's budgets, seconds.
    """

    def __init__(self, folder: Path | None = None, *, processor_time: bool = False) -> None:
        """Keep each part in a file of the folder, if one is given; one that is measured again replaces its own."""
        self.clock = time.thread_time if processor_time else time.perf_counter
        self._folder = folder
        self._sections: dict[str, Any] = {}
        self._rows: dict[str, Any] = {}

    def keeps(self, part: str) -> bool:
        """Return whether a part has been measured to its end, now or by an earlier run."""
        return self._folder is not None and _file(self._folder, part).exists()

    def measure(self, part: str, measure: Callable[[Figures], None]) -> None:
        """Measure a part, and keep it as it ends, unless a peer or a file is missing for all of it."""
        self._sections = {}
        measure(self)
        if self._folder is not None and self._sections:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(_file(self._folder, part), self._sections)

    def change(self, part: str, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change what is kept of a part, if it is: it was measured before something else became known."""
        if self._folder is not None and self.keeps(part):
            file = _file(self._folder, part)
            _write(file, changed(json.loads(file.read_text())))

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

    def values(self, name: str, values: Mapping[str, float]) -> None:
        """Print a row of values below one another, and keep it."""
        lines = [f"    {value:10.4g}  {what}" for what, value in values.items()]
        self.row(name, "\n".join((name, *lines)), **values)

    def row(self, name: str, line: str, **values: float | list[float] | None) -> None:
        """Print a row and keep it with its values."""
        print(line, flush=True)
        self._rows[name] = {"line": line, **values}


def add_keep_option(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark's command name the folder of its figures."""
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the figures to a file of this folder")


def kept_sections(folder: Path) -> dict[str, Any]:
    """Return the sections of all parts that a folder keeps, by name."""
    parts = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    return {name: section for part in parts for name, section in part.items()}


def _write(file: Path, sections: Mapping[str, Any]) -> None:
    scratch = file.with_suffix(".new")
    scratch.write_text(json.dumps(sections, indent=1, ensure_ascii=False) + "\n")
    scratch.replace(file)


def _file(folder: Path, part: str) -> Path:
    return folder / f"{part}.json"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
