"""A sweep is one request for many values of its parameters; command line and pages make its tasks here."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from cosched.api.command_names import command_name
from cosched.api.parameter_values import parse_parameter_values
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.api.documents.task_requests import TaskRequest

__all__ = ["MOST_SWEPT", "swept"]

MOST_SWEPT = 10_000
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACE = re.compile(rf"\{{(?P<literal>\{{{_NAME}\}})\}}|(?P<shell>\$?)\{{(?P<name>{_NAME})\}}", re.ASCII)


def swept(request: TaskRequest, settings: Iterable[str], option: str = "--sweep") -> list[TaskRequest]:
    """Return a task for each combination of values, the last parameter changing first.

    An application and a command with a model of its own get them as parameters; in the words of a command they stand
    where `{NAME}` is written; `{{NAME}}` stands for `{NAME}` itself. They are in the names of the tasks, too.

    Args:
        request: what the tasks have in common.
        settings: NAME=1,2,4, NAME=100..1000:100 or NAME=1..64:*2 each; none gives the request itself.
        option: where they are given, for messages.

    Raises:
        UserError: a setting cannot be read or has a value twice, a value has no place or a place no value, or there
            are more than `MOST_SWEPT` tasks.
    """
    given = parse_parameter_values(settings, option)
    if not given:
        return [request]
    values = [value if isinstance(value, list) else [value] for value in given.values()]
    count = 1
    for each in values:
        count *= len(each)
    if count > MOST_SWEPT:
        raise UserError(f"{option} gives {count} tasks: sweep over at most {MOST_SWEPT} combinations")
    takes_parameters = bool(request.application or request.model)
    places = [place for word in request.command for place in _PLACE.finditer(word) if place["name"]]
    named = {place["name"] for place in places}
    for name, each in zip(given, values, strict=True):
        value, times = Counter(each).most_common(1)[0]
        if times > 1:
            raise UserError(f"{option} {name} has {value:.15g} twice: give each value once")
        if not takes_parameters and name not in named:
            raise UserError(f"{option} {name}: no word of the command has {{{name}}}, where the values are to stand")
    for name in sorted({place["name"] for place in places if not place["shell"]} - given.keys()):
        raise UserError(
            f"the command has {{{name}}}, and no {option} {name}=… gives it values: give one, or write {{{{{name}}}}} "
            "where the braces are the command's own"
        )
    return [
        _with_values(request, dict(zip(given, chosen, strict=True)), takes_parameters=takes_parameters)
        for chosen in product(*values)
    ]


def _with_values(request: TaskRequest, values: dict[str, float], *, takes_parameters: bool) -> TaskRequest:
    words = {name: f"{value:.15g}" for name, value in values.items()}
    command = tuple([_with_words(each, words) for each in request.command])
    shown = " ".join(f"{name}={word}" for name, word in words.items())
    called = request.name or request.application or (command_name(command) if command else "")
    return replace(
        request,
        command=command,
        parameters={**request.parameters, **values} if takes_parameters else request.parameters,
        name=f"{called} {shown}".strip(),
    )


def _with_words(word: str, values: Mapping[str, str]) -> str:
    """Return a word of a command with the values in their places."""

    def written(place: re.Match[str]) -> str:
        if place["literal"]:
            return place["literal"]
        return f"{place['shell']}{values[place['name']]}" if place["name"] in values else place[0]

    return _PLACE.sub(written, word)
