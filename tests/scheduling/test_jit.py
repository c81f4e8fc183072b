from __future__ import annotations

from typing import TYPE_CHECKING

import numba

from cosched.scheduling.jit import compiled

if TYPE_CHECKING:
    import pytest


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

    def refusing(*, cache: bool = False, nogil: bool) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(nogil=nogil)

    monkeypatch.setattr(numba, "njit", refusing)
    assert compiled(double)(4) == 8
