"""Compile functions with numba, and keep the machine code on disk where some folder can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compiled"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function compiled at its first call.

    The code is cached in NUMBA_CACHE_DIR where that is set, else in `__pycache__` beside the source, else in the
    user's cache folder; where none can be written it is compiled anew in each process.
    """
    try:
        fast: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba: "no locator available"
        fast = numba.njit(nogil=True)(function)
    return fast
