"""The command `cosched`: noun, verb; exit code 0 done, 1 the user's fault, 2 the system's."""

from __future__ import annotations

import importlib
import sys

import typer

from cosched.errors import CoschedError, UserError

__all__ = ["build", "main"]

# noun → (module under cosched.cli, help). A noun's module has `app: typer.Typer`; a command's has `command`.
_NOUNS = {
    "model": "Check and evaluate performance models.",
    "task": "Submit tasks and follow them.",
    "host": "The hosts of the domain.",
    "config": "The configuration in force.",
}
_COMMANDS = {
    "plan": "Make a schedule for a queue given as a file.",
    "serve": "Run the daemon.",
}


def build() -> typer.Typer:
    """Assemble the whole command tree."""
    app = typer.Typer(name="cosched", help="Predictive co-scheduling towards deadlines.", no_args_is_help=True,
                      pretty_exceptions_enable=False, add_completion=False)  # fmt: skip
    for noun, text in _NOUNS.items():
        app.add_typer(importlib.import_module(f"cosched.cli.{noun}").app, name=noun, help=text, no_args_is_help=True)
    for name, text in _COMMANDS.items():
        app.command(name, help=text)(importlib.import_module(f"cosched.cli.{name}").command)
    return app


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        build()(standalone_mode=True)
    except CoschedError as error:
        sys.stderr.write(f"cosched: {error}\n")
        sys.exit(1 if isinstance(error, UserError) else 2)
    except KeyboardInterrupt:
        sys.exit(130)
