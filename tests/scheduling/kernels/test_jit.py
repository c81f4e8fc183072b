from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numba
import pytest

from cosched.scheduling.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def test_functions_are_compiled_and_cached() -> None:
    fast = compiled(double)
    assert fast(4) == 8
    assert isinstance(fast, numba.core.dispatcher.Dispatcher)


def test_where_no_folder_can_be_written_functions_are_compiled_without_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = numba.njit

    def refusing(*, cache: bool = False, **options: bool) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert compiled(double)(4) == 8


@inlined
def quadruple(number: int) -> int:
    return double_fast(double_fast(number))


double_fast = compiled(double)


def eight_times(number: int) -> int:
    return quadruple(double_fast(number))


def test_what_is_written_out_in_its_callers_is_not_compiled_itself() -> None:
    """Each thin function around a decoder took as long to compile as the decoder, for each kind of table."""
    assert compiled(eight_times)(1) == 8
    assert isinstance(quadruple, numba.core.dispatcher.Dispatcher)
    assert not quadruple.signatures


@pytest.mark.daemon
def test_code_older_than_any_source_is_made_anew(tmp_path: Path) -> None:
    """numba looks at a function's own file alone: after an upgrade in place the code of its callees was the old one."""
    (tmp_path / "module.py").write_text("def double(number):\n    return 2 * number\n")
    program = (
        "from module import double; from cosched.scheduling.kernels.jit import compiled; "
        "fast = compiled(double); fast(4); print(sum(fast.stats.cache_hits.values()))"
    )
    paths = os.pathsep.join([str(tmp_path), *sys.path])

    def hits() -> int:
        environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        return int(
            subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True).stdout
        )

    assert hits() == 0
    assert hits() == 1
    for index in (tmp_path / "kept").rglob("*.nbi"):
        os.utime(index, (1, 1))
    assert hits() == 0
