"""Workers of pytest-xdist start at once: forked from a process that has imported all tests.

To import the tests, and with them all of cosched, was most of what each of six workers did before its first test: six
times eight seconds of a processor. What a worker does from then on is as ever: it has a session of its own and collects
its tests, out of modules that are there.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.testbed.forked.quick_command import stand_in
from tests.testbed.forked.server import read_templates, serve, started, warm_up_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["forked_python"]


def forked_python(places: Sequence[str]) -> Path:
    """Return a Python for workers that begins with the modules of tests imported.

    Args:
        places: files, folders and tests, as pytest is told.
    """
    folder = Path(tempfile.mkdtemp(prefix="cosched-workers-"))
    started("tests.testbed.forked.workers", folder / "socket", os.getpid(), *places)
    return stand_in(folder, "python", folder / "socket")


class _ModulesAlone:
    """Pytest imports modules, with its own assertions, and makes no tests of what is in them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self) -> list[pytest.Item]:
        return []

    def pytest_exception_interact(self, node: pytest.Collector) -> None:
        """Forget what could not be imported: with `--import-mode=importlib` the part of it that could be stays known.

        The workers would take that for the whole, and leave out the tests that stand behind the mistake.
        """
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) == str(node.path):
                del sys.modules[name]


def _import_tests(places: Sequence[str]) -> None:
    """Import them as pytest does. What cannot be imported every worker says itself."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        pytest.main([*places, "--collect-only", "-p", "no:cacheprovider"], [_ModulesAlone()])
    if "cosched.portal.pages.rendering" in sys.modules:
        read_templates()
    if "cosched.scheduling.search.genetic_search" in sys.modules:
        warm_up_kernels()
    if "hypothesis" in sys.modules:
        _draw_text()
    gc.freeze()
    gc.disable()  # until all tests are collected: tests/conftest.py


def _draw_text() -> None:
    """Have Hypothesis read what it draws from: all characters, and the constants of all modules that are there.

    In a fresh clone that takes each worker four seconds of a processor.
    """
    from hypothesis import given, settings  # not before pytest, which rewrites it
    from hypothesis import strategies as st

    settings(max_examples=1, database=None)(given(st.text())(lambda _text: None))()


def _be_python(arguments: list[str]) -> int:
    """Do what `python -u -c CODE` does."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    exec(arguments[-1], vars(main))
    return 0


if __name__ == "__main__":
    _import_tests(sys.argv[3:])
    serve(sys.argv[1], int(sys.argv[2]), {"python": _be_python})
