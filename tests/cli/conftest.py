"""Commands are made of their functions once in a process: that took longer than most of them do."""

from __future__ import annotations

from functools import cache

import typer.main
import typer.testing

typer.testing._get_command = cache(typer.main.get_command)  # type: ignore[attr-defined]
