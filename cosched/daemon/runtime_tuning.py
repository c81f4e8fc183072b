"""Tune the process for many threads and connections.

Many threads answer requests; none may delay the others, and there must be files for all connections.
"""

from __future__ import annotations

import gc
import resource
import sys

__all__ = ["raise_file_limit", "tune_runtime"]

# Seconds for which a thread that computes keeps the interpreter while others want it. An answer passes through several
# threads: at Python's own 5 ms each of them waited so long behind a thread that compares plans.
_SWITCH_SECONDS = 0.001
# New objects between two looks for cycles among them, and such looks between two at what lived through them. Handling
# a thousand tasks makes objects by the ten thousand, hardly a cycle among them.
_YOUNG, _LOOKS, _LONG_LOOKS = 20_000, 20, 50

# Files that are enough for all connections, workers and jobs of the local connector, which inherit the limit.
_FILES = 65_536


def raise_file_limit() -> None:
    """Let the process open more files, up to its hard limit or a sensible number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def tune_runtime() -> None:
    """Set the process up to serve. Call once, when everything is loaded."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # modules and routes stay: hundreds of thousands of objects that need no more looking at
    gc.set_threshold(_YOUNG, _LOOKS, _LONG_LOOKS)
