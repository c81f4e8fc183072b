"""The command `cosched`: noun, verb; exit codes 0 (done), 1 (user), 2 (system).

1 means that the user is at fault, 2 that the system is.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from cosched.cli.output import clean
from cosched.errors import CoschedError, UserError, expected_text
from cosched.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["build", "main", "run"]

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# noun → help; its module under cosched.cli has `app: typer.Typer`.
_NOUNS = {
    "model": "Check and evaluate performance models.",
    "task": "Submit tasks and follow them.",
    "domain": "Show state, schedule, past runs and log of the domain.",
    "host": "List and reserve the hosts of the domain.",
    "hardware": "Measure machines, for models to predict with.",
    "share": "Show and set shares of groups and users.",
    "library": "Show the catalogue and the models of the daemon.",
    "peer": "Manage neighbouring domains.",
    "token": "Manage tokens with which programs prove who they are.",
    "account": "Manage local accounts, for sites without a login of their own.",
    "notice": "Tell everybody something on all pages.",
    "audit": "Show who changed what.",
    "database": "Back up, restore and check the daemon's database.",
    "config": "Show the configuration in force.",
}
# command → help; its module has `command`.
_COMMANDS = {
    "replay": "Run a recording of a domain again and show its decisions.",
    "plan": "Make a schedule for a queue given as a file.",
    "serve": "Run the daemon.",
    "portal": "Print a link that opens the pages, logged in.",
    "simulate": "Run an experiment in virtual time.",
}


def build(first: str = "") -> typer.Typer:
    """Assemble the command tree.

    Args:
        first: the only noun or command to load; of the others just name and help are there. Empty: load none.
    """
    app = typer.Typer(
        name="cosched",
        help="Predictive co-scheduling towards deadlines.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for noun, text in _NOUNS.items():
        noun_app = importlib.import_module(f"cosched.cli.{noun}").app if noun == first else _name_only()
        app.add_typer(noun_app, name=noun, help=text, no_args_is_help=True)
    for name, text in _COMMANDS.items():
        command = importlib.import_module(f"cosched.cli.{name}").command if name == first else _nothing
        app.command(name, help=text)(command)
    return app


@cache
def _made(first: str) -> Callable[..., Any]:
    """Return what runs the commands, once in a process: to make it takes longer than most of them."""
    return get_command(build(first))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors are printed in one line."""
    words = _completed_words() or arguments
    first = next((word for word in words if not word.startswith("-")), "")
    try:
        return int(_made(first)(list(arguments), prog_name="cosched", standalone_mode=False) or 0)
    except CoschedError as error:
        sys.stderr.write(f"cosched: {clean(str(error))}\n")  # a name in it may hold a line break
        return 1 if isinstance(error, UserError) else 2
    except typer.TyperException as error:
        _print_usage_error(error)
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except OSError as error:
        return _unwritten(error, 0)


def main() -> None:
    """Run the command line and exit with its code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # as on a terminal of ISO 8859-1, which has no minus sign of ours
        sys.stdout.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _unwritten(error, code)
    sys.exit(code)


def _unwritten(error: OSError, code: int) -> int:
    """Return the exit code where the output could not be written; that of the command where its reader has closed it.

    Raises:
        OSError: it is about something else.
    """
    if error.errno not in _NO_ROOM and not isinstance(error, BrokenPipeError):
        raise error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python must not complain about it at exit
    if isinstance(error, BrokenPipeError):
        return code
    sys.stderr.write(f"cosched: the output cannot be written ({error.strerror}): what was asked for may be done\n")
    return 2


def _print_usage_error(error: typer.TyperException) -> None:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "cosched"
    message = expected_text(error.format_message()).rstrip(".")
    if message:  # else the help has been printed in place of an error
        sys.stderr.write(f"cosched: {' '.join(message.split())} (try '{command} --help')\n")


def _name_only() -> typer.Typer:
    app = typer.Typer()
    app.callback()(_nothing)
    return app


def _nothing() -> None:
    pass


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"cosched {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _completed_words() -> list[str]:
    """Return the words that a shell asks to be completed; none where no shell asks."""
    if "_COSCHED_COMPLETE" not in os.environ:
        return []
    return os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split()[1:]


if __name__ == "__main__":
    main()
