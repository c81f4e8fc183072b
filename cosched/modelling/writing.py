"""A fitted model is written as PSL.

Start at `model_text`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.errors import UserError
from cosched.language import format_source
from cosched.language.diagnostics import Source
from cosched.language.vocabulary import FUNCTION_ARITIES, HARDWARE_OBJECT, KEYWORDS, PROCESSORS
from cosched.modelling.formula import number
from cosched.modelling.startup import LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cosched.modelling.fitting import Fitted
    from cosched.modelling.startup import StartUp

__all__ = ["TOOL", "check_name", "check_text", "model_name", "model_text"]

TOOL = "cosched model fit"
"""The setting `tool` of a fitted model."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}", re.ASCII)
_OWN = ("init", "run", "base")
_SYMMETRIC = 0.5  # error from which both sides are stated


def check_name(name: str, what: str) -> None:
    """Refuse a word that cannot be a name in PSL.

    Raises:
        UserError: says why.
    """
    if not _NAME.fullmatch(name):
        raise UserError(f"{what} {name[:80]!r} is no name of PSL: use letters, digits and '_'")
    if name in (*KEYWORDS, *FUNCTION_ARITIES, PROCESSORS, HARDWARE_OBJECT, *_OWN):
        raise UserError(f"{what} {name} means something else in PSL: call it {name}_")


def model_name(program: str) -> str:
    """Return the name of a program's model: `heat_2d` for `heat-2d.py`."""
    return re.sub(r"[^A-Za-z0-9_]", "_", program.removesuffix(".py").removesuffix(".sh"))


def check_text(text: str, what: str) -> None:
    """Refuse a text that would end a comment or a text of PSL.

    Raises:
        UserError: says why.
    """
    if not text.isprintable() or "*)" in text or "(*" in text or '"' in text or len(text) > 200:
        raise UserError(
            f"{what} {text[:80]!r} cannot stand in a model: leave out '(*', '*)', quotes and control characters"
        )


def model_text(fitted: Fitted, day: str, also: Iterable[int] = (), start: StartUp | None = None) -> str:
    """Return a model in its canonical layout.

    Args:
        fitted: what the runs taught.
        day: when, as people write it.
        also: of runs on one number of processors, other numbers with the same times: those that the hosts have, where a
            program did not use all of them.
        start: of the program; None: the law knows of it.

    Raises:
        UserError: a name that PSL does not take.
    """
    if start is not None and LAUNCHER in fitted.points.names:
        raise UserError(f"parameter {LAUNCHER} means the time of launchers in a model: call it {LAUNCHER}_")
    check_name(fitted.application, "application")
    check_text(fitted.hardware, "class")
    for name in fitted.points.names:
        check_name(name, "parameter")
    text = "".join(f"{line}\n" for line in _lines(fitted, day, also, start))
    return format_source(Source(f"{fitted.application}.psl", text))


def _lines(fitted: Fitted, day: str, also: Iterable[int], start: StartUp | None) -> Iterator[str]:
    seen, law = fitted.seen, fitted.chosen.law
    counts = ", ".join(map(str, seen.processors))
    yield f"(* {fitted.application}, fitted by `{TOOL}` on {day} to {fitted.runs} runs{_of_class(fitted.hardware)}"
    processors = plural(seen.processors[0], "processor") if len(seen.processors) == 1 else f"{counts} processors"
    yield f"   on {processors} ({fitted.chosen.name}). A size foretold by the others is off by"
    yield f"   {fitted.mean_error:.1%} in the mean, {fitted.worst_error:.1%} at worst{_repeats(fitted.noise)}. *)"
    yield ""
    yield f"application {fitted.application} {{"
    declared = []
    for name, values in seen.values.items():
        least, most = seen.limits(name)
        middle = values[len(values) // 2]
        declared.append(f"{name} = {_exact(middle)} in ({_exact(least)}, {_exact(most)})")
    begins = ""
    if start is not None:
        declared.append(f"{LAUNCHER} = {number(1e3 * start.seconds)} ms in (0, 1e12)")
        begins = f"{LAUNCHER} + "
    if declared:
        yield f"    var numeric: {', '.join(declared)};"
    yield f"    option {{ {', '.join(_options(fitted, day, start))}; }}"
    yield "    proc exec init {"
    if law.curve is None:
        yield "        step cpu { confdev run(); }"
    else:
        yield "        var numeric: base;"
        yield "        base = run();"
        yield f"        step cpu {{ confdev {begins}base * {law.curve.psl('base')}; }}"
    yield "    }"
    yield "    proc cflow run {"
    formula = law.formula.psl(fitted.points.names)
    if law.curve is None:
        formula = begins + formula
    if len(seen.processors) == 1:
        yield "        (* Runs on other numbers of processors teach what those take. *)"
        same = sorted({seen.processors[0], *also})
        yield f"        measured ({PROCESSORS}) {{ {', '.join(f'{count}: {formula}' for count in same)} }}"
    else:
        yield f"        compute <is measured, {formula}>;"
    yield "    }"
    yield "}"


def _exact(value: float) -> str:
    return repr(value).removesuffix(".0")


def _of_class(hardware: str) -> str:
    return f" on {hardware}" if hardware else ""


def _repeats(noise: float | None) -> str:
    return "; nothing was run twice" if noise is None else f"; repeats differ by {noise:.1%}"


def _options(fitted: Fitted, day: str, start: StartUp | None) -> Iterable[str]:
    if fitted.hardware:
        yield f'hrduse = "{fitted.hardware}"'
    errors = fitted.error, fitted.error_beyond, 0.0 if start is None else start.error
    if max(errors) < _SYMMETRIC:
        yield f"error = {_stated(fitted, *errors)}"
    else:
        yield f"error_below = {_stated(fitted, *(error / (1 + error) for error in errors))}"
        yield f"error_above = {_stated(fitted, *errors)}"
    yield f'fitted = "{day}"'
    yield f'tool = "{TOOL}"'
    yield f'samples = "{fitted.digest}"'
    yield f'seen = "{fitted.seen.text()}"'


def _stated(fitted: Fitted, inside: float, beyond: float, start: float) -> str:
    seen = fitted.seen
    outside = [
        f"{name} < {_exact(values[0])} || {name} > {_exact(values[-1])}"
        for name, values in seen.values.items()
        if len(values) > 1
    ]
    if len(seen.processors) > 1:
        outside.append(f"{PROCESSORS} < {seen.processors[0]} || {PROCESSORS} > {seen.processors[-1]}")
    stated = f"{number(inside)} + {number(round(beyond - inside, 6))} * ({' || '.join(outside)})"
    if not start:
        return stated
    formula = fitted.chosen.law.formula.psl(fitted.points.names)  # each part of the time has an error of its own
    return f"(({stated}) * ({formula}) + {number(round(start, 6))} * {LAUNCHER}) / ({LAUNCHER} + {formula})"
