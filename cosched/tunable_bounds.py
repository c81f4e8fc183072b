"""Bounds of tunable tasks, which language, evaluation and scheduling share."""

from __future__ import annotations

__all__ = ["MOST_CHAINS", "MOST_STAGES"]

MOST_CHAINS = 1000
"""Ways through one tunable task at most."""

MOST_STAGES = 100_000
"""Stages of all ways through one tunable task at most, each turn of a loop counted."""
