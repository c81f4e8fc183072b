"""Find the files that travel with cosched: models/, templates/ and etc/."""

from __future__ import annotations

from pathlib import Path

__all__ = ["etc", "models", "templates"]

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_data"
# A wheel carries the folders inside the package; a checkout has them beside it.
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent


def models() -> Path:
    """Return the library of models: applications/, templates/, hardware/."""
    return _ROOT / "models"


def templates() -> Path:
    """Return the folder of Jinja2 templates."""
    return _ROOT / "templates"


def etc() -> Path:
    """Return the folder of example configuration."""
    return _ROOT / "etc"
