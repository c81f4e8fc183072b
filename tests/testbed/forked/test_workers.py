from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CONFTEST = """from tests.testbed.forked.workers import forked_python
def pytest_xdist_setupnodes(config, specs):
    for spec in specs:
        spec.python = str(forked_python(config.args))
"""
_TESTS = """import os
IMPORTED_BY = os.getpid()
def test_it_was_imported_before_its_worker_began():
    assert IMPORTED_BY != os.getpid()
def test_what_fails_is_explained():
    number = 3
    assert number == 4
"""


_HALF_BROKEN = """def test_before_the_mistake():
    pass
import nowhere_else
def test_behind_it():
    assert False
"""


@pytest.mark.daemon
def test_workers_begin_with_all_tests_imported_and_say_what_fails_half_way_too(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_some.py").write_text(_TESTS)
    (tmp_path / "test_broken.py").write_text("import nowhere\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")  # as this project's
    (tmp_path / "test_half.py").write_text(_HALF_BROKEN)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3])
    leave_out = [
        word for plugin in ("cacheprovider", "schemathesis", "hypothesispytest") for word in ("-p", f"no:{plugin}")
    ]
    command = [sys.executable, "-m", "pytest", *leave_out, "-n", "1", "--continue-on-collection-errors"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "assert 3 == 4" in done.stdout
    assert "No module named 'nowhere'" in done.stdout
    assert "No module named 'nowhere_else'" in done.stdout
