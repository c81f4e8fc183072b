"""`cosched model history`: what runs have taught of an application."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, console, emit_json, print_table
from cosched.durations import format_duration
from cosched.prediction.history import FEWEST_RUNS

__all__ = ["history"]


def history(
    application: Annotated[str, typer.Argument(help="An application, or a program's name as `task list` shows it.")],
    forget: Annotated[bool, typer.Option("--forget", help="Forget these runs: it is learnt anew.")] = False,
    limit: Annotated[int, typer.Option(help="Newest runs to show at most.")] = 20,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show the runs from which those like them are foretold, newest first.

    They are your own, unless you are an operator.

    NUMBERS are those among the words of a run's command, by which it is compared with the next one.
    """
    with connect(server) as client:
        if forget:
            client.forget_runs(application)
            console.print(f"what was learnt of {application} is forgotten", markup=False)
            return
        found = client.learnt_runs(application, limit)
    if json:
        emit_json([asdict(run) for run in found])
        return
    rows = [
        (
            run.task,
            run.owner,
            " ".join(f"{number:g}" for number in run.numbers),
            str(run.hosts),
            run.hardware,
            run.program_digest[:6],
            format_duration(run.seconds),
            "" if run.predicted is None else format_duration(run.predicted),
            format_optional_time(run.finished),
        )
        for run in found
    ]
    print_table(("TASK", "OWNER", "NUMBERS", "HOSTS", "CLASS", "PROGRAM", "RAN", "PREDICTED", "ENDED"), rows)
    if len(found) < FEWEST_RUNS:
        console.print(f"what has no model is planned from {FEWEST_RUNS} runs on", markup=False)
