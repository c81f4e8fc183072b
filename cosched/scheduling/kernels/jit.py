"""Compile functions with numba and keep the machine code in a writable folder."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["borrowing", "compiled", "inlined"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function compiled at its first call.

    The code is cached in NUMBA_CACHE_DIR where that is set, else in `__pycache__` beside the source, else in the
    user's cache folder; where none can be written it is compiled anew in each process.
    """
    return _compiled(function)


def borrowing(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function compiled into its callers, without counts of references to its arrays.

    It is for small functions that compiled code calls often: else each call hands over a dozen words for each array,
    and counts it up and down, two atomic operations. That takes longer than many a function's work. Such a function
    makes and returns no arrays, and divides by no zero: it would not be told.
    """
    return _compiled(function, _nrt=False, error_model="numpy", forceinline=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function for compiled code that calls it, where it is written out; it is not compiled by itself.

    What compiled code calls is compiled into it once more, and so on for its callers. A compiled function of few lines
    around a decoder takes as long to compile as the decoder.
    """
    written_out: Callable[P, R] = numba.njit(inline="always")(function)
    return written_out


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        fast = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
    except RuntimeError:  # numba: "no locator available"
        without: Callable[P, R] = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
        return without
    _discard_stale(fast.stats.cache_path)
    kept: Callable[P, R] = fast
    return kept


@lru_cache
def _discard_stale(folder: str) -> None:
    """Remove code in the folder that is older than any source here.

    numba compares a function's code with that function's own file alone; what it calls is compiled into it, so that
    after a change elsewhere (an upgrade in place) the old code would be run, or fail to be read.
    """
    newest = max(path.stat().st_mtime_ns for path in Path(__file__).parents[1].rglob("*.py"))
    for kept in Path(folder).glob("*.nbi"):
        with suppress(OSError):  # another process was quicker
            if kept.stat().st_mtime_ns < newest:
                kept.unlink()
