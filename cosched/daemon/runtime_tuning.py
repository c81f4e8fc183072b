"""Tuning of the interpreter: many threads answer, and none may delay the others."""

from __future__ import annotations

import gc
import sys

__all__ = ["tune_runtime"]

# Seconds for which a thread that computes keeps the interpreter while others want it. An answer passes through several
# threads: at Python's own 5 ms each of them waited so long behind a thread that compares plans.
_SWITCH_SECONDS = 0.001
# New objects between two looks for cycles among them, and such looks between two at what lived through them. Handling
# a thousand tasks makes objects by the ten thousand, hardly a cycle among them.
_YOUNG, _LOOKS, _LONG_LOOKS = 20_000, 20, 50


def tune_runtime() -> None:
    """Set the process up to serve. Call once, when everything is loaded."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # modules and routes stay: hundreds of thousands of objects that need no more looking at
    gc.set_threshold(_YOUNG, _LOOKS, _LONG_LOOKS)
