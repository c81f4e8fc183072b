"""The models and machines that travel with cosched, read once in a process: nothing of them can change."""

from __future__ import annotations

from functools import cache

from cosched.evaluation import load, load_hardware

__all__ = ["library_application", "library_hardware"]

library_application = cache(load)
library_hardware = cache(load_hardware)
