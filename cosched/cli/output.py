"""What every command shares: JSON or text, one-line errors, exit codes."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["JsonOption", "console", "emit_json", "finite"]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, stable and documented, instead of text.")]

console = Console(soft_wrap=True, highlight=False)
"""Where tables and text for people go (standard output)."""


def finite(value: float | None) -> float | None:
    """Return the number, or None where JSON has no word for it (infinite, not a number)."""
    return value if value is not None and math.isfinite(value) else None


def emit_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document and a newline to standard output."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False, ensure_ascii=False)
    sys.stdout.write("\n")
