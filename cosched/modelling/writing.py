"""A fitted model is written as PSL.

Start at `model_text`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.errors import UserError
from cosched.language import format_source
from cosched.language.diagnostics import Source
from cosched.language.vocabulary import FUNCTION_ARITIES, HARDWARE_OBJECT, KEYWORDS, PROCESSORS
from cosched.modelling.fitting import LEAST_TIME, UNSURE_COST
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
_OWN = ("init", "run", "base", "doubt")


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
    yield "    (* How far off it may be: a logarithm. *)"
    yield f"    proc exec doubt {{ return {_doubt(fitted, begun=start is not None and law.curve is None)}; }}"
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
    below, above = (0.0, 0.0) if start is None else (start.below, start.above)
    yield f"error_below = {_stated(fitted, '1 - exp(-doubt())', below)}"
    yield f"error_above = {_stated(fitted, 'exp(doubt()) - 1', above)}"
    yield f'fitted = "{day}"'
    yield f'tool = "{TOOL}"'
    yield f'samples = "{fitted.digest}"'
    yield f'seen = "{fitted.seen.text()}"'


def _stated(fitted: Fitted, error: str, start: float) -> str:
    """Return the error on a side as PSL; where there is a start-up, each part of the time has one of its own.

    Args:
        fitted: what the runs taught.
        error: that of the law.
        start: that of the start-up.
    """
    if not start:
        return error
    formula = fitted.chosen.law.formula.psl(fitted.points.names)
    return f"(({error}) * ({formula}) + {number(round(start, 6))} * {LAUNCHER}) / ({LAUNCHER} + {formula})"


def _doubt(fitted: Fitted, *, begun: bool) -> str:
    """Return the logarithm of how far off a run may be as PSL: see `Fitted.error_at`.

    Args:
        fitted: what the runs taught.
        begun: whether the model's time has the start-up, of which the law knows nothing.
    """
    ends = {name: fitted.seen.ends(name) for name in fitted.unsure}
    outside = [f"{name} < {_exact(low)} || {name} > {_exact(high)}" for name, (low, high) in ends.items()]
    inside, beyond = (math.log1p(each) ** 2 for each in (fitted.error, fitted.error_beyond))
    middle, reach = fitted.times
    time = f"run() - {LAUNCHER}" if begun else "run()"
    unlike = (
        f"max(0, abs(log(max({time}, {number(1e9 * LEAST_TIME)} ns) / {number(1e6 * middle)} us)) - {number(reach)})"
    )
    parts = [
        f"{number(inside)} + {number(beyond - inside)} * ({' || '.join(outside)})",
        f"({number(UNSURE_COST)} * {unlike}) ^ 2",
        *(
            f"({number(fitted.unsure[name])} * max(0, log({_exact(low)} / {name}), log({name} / {_exact(high)}))) ^ 2"
            for name, (low, high) in ends.items()
        ),
    ]
    return f"sqrt({' + '.join(parts)})"
