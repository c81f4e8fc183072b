from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from cosched.cli.task.options import takes_options

# No `from __future__ import annotations`, as where commands are.


@dataclass(frozen=True, kw_only=True)
class Choice:
    name: Annotated[str, typer.Argument()] = ""
    colours: Annotated[Sequence[str], typer.Option("--colour", help="Any of them.")] = ()
    size: Annotated[int, typer.Option(min=1)] = 3


def an_app(seen: list[tuple[int, Choice, bool]]) -> typer.Typer:
    """Return an app with one command, which notes what it is given."""
    app = typer.Typer()

    @takes_options
    def choose(first: int, options: Choice, last: bool = False) -> None:
        """Choose one."""
        seen.append((first, options, last))

    app.command()(choose)
    return app


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["7"], (7, Choice(), False)),
        (["7", "x", "--last"], (7, Choice(name="x"), True)),
        (
            ["7", "--colour", "red", "--colour", "blue", "--size", "4"],
            (7, Choice(colours=("red", "blue"), size=4), False),
        ),
    ],
)
def test_each_field_is_an_option_of_the_command(words: list[str], given: tuple[int, Choice, bool]) -> None:
    seen: list[tuple[int, Choice, bool]] = []
    result = CliRunner().invoke(an_app(seen), words)
    assert (result.exit_code, seen) == (0, [given]), result.output


def test_bounds_and_help_are_those_of_the_fields() -> None:
    seen: list[tuple[int, Choice, bool]] = []
    assert CliRunner().invoke(an_app(seen), ["7", "--size", "0"]).exit_code == 2
    helped = CliRunner().invoke(an_app(seen), ["--help"]).output
    assert not seen
    assert "Choose one." in helped
    assert "Any of them." in helped
