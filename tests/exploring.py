"""How far property tests go: the same few examples in `make test`, new and many more ones in `make soak`."""

from __future__ import annotations

import os

__all__ = ["EXPLORES", "examples"]

EXPLORES = "EXPLORE" in os.environ

_FURTHER = 100


def examples(usual: int) -> int:
    """Return how many examples a test tries where `usual` ones are enough to find what has been found so far."""
    return usual * _FURTHER if EXPLORES else usual
