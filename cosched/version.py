"""The version of cosched, in a separate module that every part may import."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
