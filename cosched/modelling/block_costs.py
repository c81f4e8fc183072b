"""Costs of a derived model's blocks are learnt from runs: first one factor, then each by itself.

Start at `fit_costs`. Costs are the variables of the application whose default is a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation import parameters, profile
from cosched.language import Source, format_source
from cosched.language.syntax import Number
from cosched.language.vocabulary import BLOCK_ERROR, PROCESSORS, TIME, dimension
from cosched.modelling.block_caches import cache_costs, with_cache_costs
from cosched.modelling.derivation import GUESSED_COSTS, START
from cosched.modelling.fitting import seen_of, stated_error
from cosched.modelling.nnls import nnls
from cosched.modelling.points import points_of, repeat_noise
from cosched.modelling.startup import LAUNCHER
from cosched.modelling.writing import TOOL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation import Application, Hardware
    from cosched.modelling.block_caches import CacheCost
    from cosched.modelling.points import Points, TimedRun
    from cosched.modelling.startup import StartUp

    Floats = NDArray[np.float64]

__all__ = ["BlockCosts", "cost_names", "fit_costs", "in_units", "named_blocks", "overlay", "with_launcher"]

_BETTER = 0.9  # of the error of fewer costs, to be chosen before it
_TURNS = 4  # of a model whose time is no sum of its costs, as messages overlap
_STEP = 0.1
_SETTLED = 1e-3
_ONE_SIZE = 0.5  # error of one size's runs at others, see benchmarks.derivation
_BEYOND = 2.0  # times the error, outside what was seen
_LEAST = 0.01
_MOST = 10.0
_SYMMETRIC = 0.5  # error from which both sides are stated
_OURS = ("error", "error_below", "error_above", "fitted", "tool", "samples", "seen", "hrduse")
_OPTIONS = re.compile(r"\boption\s*\{([^{}]*)\}")
_SETTING = re.compile(r"\s*(\w+)\s*=(.*)", re.DOTALL)
_MEASURED = re.compile(r"<is measured,\s*([^;]*)>;")
_LAUNCHER = re.compile(rf"^\s*var numeric: {LAUNCHER} = [^;]*;\n", re.MULTILINE)
_TOLD = re.compile(rf"{re.escape(GUESSED_COSTS)}|Costs are from \d+ runs[^*]*?\.(?=\s*\*\))")


@dataclass(frozen=True, slots=True)
class BlockCosts:
    """Costs of blocks that runs have taught.

    Attributes:
        costs: microseconds of an execution of each block, by name.
        law: how many of them were learnt.
        points: where the runs were.
        runs: how many.
        noise: part of the run time by which repeats differ; None where nothing was run twice.
        off: by point, the part by which it is foretold wrongly by the other sizes; empty for one size.
        errors: of each way to learn, the mean of these parts.
        caches: those of the costs that count beyond a cache.
    """

    costs: Mapping[str, float]
    law: str
    points: Points
    runs: int
    noise: float | None
    off: Floats
    errors: Mapping[str, float]
    caches: tuple[CacheCost, ...] = ()

    @property
    def error(self) -> float:
        """Return the relative error of nine runs in ten at sizes like the ones seen."""
        if not len(self.off):
            return _ONE_SIZE
        stated = stated_error(np.log1p(self.off), self.noise or 0.0, self.points)
        return min(max(stated, _LEAST), _MOST)

    def psl(self, skeleton: str, hardware: str, day: str, digest: str) -> str:
        """Return the derived model with these costs.

        Args:
            skeleton: its text.
            hardware: class of the hosts; empty where nobody says.
            day: of today, as people write it.
            digest: of the runs.
        """
        text = with_cache_costs(skeleton, self.caches)
        text = _LAUNCHER.sub("", text).replace(f"confdev {LAUNCHER} + ", "confdev ")
        for name, cost in self.costs.items():
            pattern = rf"(\b{re.escape(name)} = )[0-9.e+-]+ (?:ns|us|ms|s)\b"
            text = re.sub(pattern, rf"\g<1>{in_units(cost)}", text, count=1)
        beyond = min(max(_BEYOND * self.error, 0.25), _MOST)
        errors = {"error": (self.error, beyond)}
        if beyond >= _SYMMETRIC:
            below = self.error / (1 + self.error), beyond / (1 + beyond)
            errors = {"error_below": below, "error_above": (self.error, beyond)}
        options = [
            *(f"{name} = {self._stated(*each)}" for name, each in errors.items()),
            f'fitted = "{day}"',
            f'tool = "{TOOL}"',
            f'samples = "{digest}"',
        ]
        options.append(f'seen = "{seen_of(self.points).text()}"')
        if hardware:
            options.insert(0, f'hrduse = "{hardware}"')
        text = _OPTIONS.sub(lambda found: _with_options(found[1], options), text, count=1)
        text = _TOLD.sub(lambda _: self.told(), text, count=1)
        return format_source(Source("derived.psl", text))

    def told(self) -> str:
        """Return a line about where the costs are from."""
        off = (
            f"A size foretold by the others is off by {np.mean(self.off):.1%}."
            if len(self.off)
            else "One size was run."
        )
        return f"Costs are from {self.runs} runs ({self.law}). {off}"

    def _stated(self, inside: float, beyond: float) -> str:
        """Return an error in PSL that is another one outside of what was seen."""
        outside = self._outside()
        return f"{inside:.2g}" + (f" + {max(beyond - inside, 0):.2g} * ({outside})" if outside else "")

    def _outside(self) -> str:
        """Return the condition, in PSL, that a size is outside the range seen."""
        return " || ".join(
            f"{name} < {self.points.values[:, place].min():g} || {name} > {self.points.values[:, place].max():g}"
            for place, name in enumerate(self.points.names)
            if place in self.points.varying
        )


def named_blocks(text: str, costs: Mapping[str, float]) -> str:
    """Return a derived model with blocks in the place of its costs: `<is block, update_14, nx * ny>`.

    Their costs stand in an overlay of each class of hosts then, see `overlay`.
    """
    for name in costs:
        text = re.sub(rf"^\s*var numeric: {re.escape(name)} = [^;]*;\n", "", text, count=1, flags=re.MULTILINE)
        if name == START:
            text = re.sub(rf"(confdev |\+ ){START} \+ ", r"\g<1>", text, count=1)
            text = re.sub(rf"(confdev )({LAUNCHER} \+ )?{START};", _without_start, text, count=1)
            text = re.sub(r"(proc cflow work \{\n)", rf"\g<1>compute <is block, {START}, 1>;\n", text, count=1)
        else:
            text = re.sub(rf"<is measured,\s*{re.escape(name)}\s*\*\s*", f"<is block, {name}, ", text)
    return format_source(Source("derived.psl", text))


def overlay(application: str, hardware: str, costs: Mapping[str, float], told: str, error: float = 0.0) -> str:
    """Return HMCL with what an application's blocks cost on a class of hosts.

    Args:
        application: the model's name.
        hardware: the class.
        costs: microseconds by block.
        told: a line about where they are from.
        error: part of the run time that they may be off, beside the model's own error.
    """
    settings = ", ".join(f"{application}.{name} = {in_units(cost)}" for name, cost in costs.items())
    settings += f", {application}.{BLOCK_ERROR} = {100 * error:.3g} %" if error else ""
    text = f"(* {told} *)\nconfig {hardware} {{ blocks {{ {settings}; }} }}\n"
    return format_source(Source("overlay.hmcl", text))


def _with_options(settings: str, ours: Sequence[str]) -> str:
    """Return the options of a model with ours in the place of those of before."""
    found = [match for text in _at_commas(settings) if (match := _SETTING.match(text))]
    kept = [f"{each[1]} = {each[2].strip()}" for each in found if each[1] not in _OURS]
    return f"option {{ {', '.join([*kept, *ours])}; }}"


def _at_commas(settings: str) -> list[str]:
    """Return the settings of an option, each by itself."""
    found, depth, quoted = [""], 0, False
    for character in settings:
        quoted ^= character == '"'
        depth += 0 if quoted else (character == "(") - (character == ")")
        if character in ",;" and depth == 0 and not quoted:
            found.append("")
        else:
            found[-1] += character
    return found


def _without_start(found: re.Match[str]) -> str:
    return f"{found[1]}{LAUNCHER};" if found[2] else f"{found[1]}0;"


def with_launcher(text: str, start: StartUp, costs: Mapping[str, float], *, named: bool) -> str:
    """Return a derived model that begins with the time of its launchers.

    Args:
        text: of the model, with its costs.
        start: what they took.
        costs: of the blocks.
        named: whether costs leave the model, so that its error cannot tell which part of the time they are.
    """
    option = _OPTIONS.search(text)
    first = text.find("step cpu { confdev ")
    if option is None or first < 0:
        return text
    text = text.replace("step cpu { confdev ", f"step cpu {{ confdev {LAUNCHER} + ", 1)
    work = " + ".join([*([START] if START in costs else []), *_MEASURED.findall(text)])

    def stated(error: re.Match[str]) -> str:
        if named:
            return f"{error[1]} = max({start.error:.2g}, {error[2]})"
        own = start.below if error[1] == "error_below" else start.above
        return f"{error[1]} = (({error[2]}) * ({work}) + {own:.2g} * {LAUNCHER}) / ({LAUNCHER} + {work})"

    settings = [re.sub(r"^\s*(error\w*)\s*=\s*(.*)$", stated, each, flags=re.DOTALL) for each in _at_commas(option[1])]
    declared = f"var numeric: {LAUNCHER} = {in_units(1e6 * start.seconds)} in (0, 1e12);\n"
    text = _OPTIONS.sub(lambda _: f"{declared}option {{{','.join(filter(str.strip, settings))};}}", text, count=1)
    return format_source(Source("derived.psl", text))


def in_units(cost: float, digits: int = 6) -> str:
    """Return a cost in microseconds as PSL writes it, with a unit."""
    unit, factor = ("ns", 1e3) if cost < 1 else ("us", 1.0) if cost < 1e3 else ("ms", 1e-3)
    return f"{cost * factor:.{digits}g} {unit}"


def cost_names(application: Application) -> dict[str, float]:
    """Return the costs of a model: variables of the application whose default is a time, with it in microseconds."""
    return {
        declared.name: declared.value.value
        for group in application.root.object.variables
        for declared in group.declarations
        if isinstance(declared.value, Number) and dimension(declared.value.unit) == TIME and declared.name != LAUNCHER
    }


def fit_costs(
    application: Application,
    runs: Sequence[TimedRun],
    hardware: Hardware,
    levels: Sequence[float] = (),
    cached: Collection[str] = (),
) -> BlockCosts:
    """Return the costs that runs teach.

    One factor for all costs needs one run; it, and a start of its own, and each cost by itself are tried where sizes
    suffice, each also with costs beyond the caches that working sets cross. What foretells sizes best by the others is
    chosen, of nearly equal ones the simplest.

    Args:
        application: the model.
        runs: at least one.
        hardware: the hosts.
        levels: bytes of each of their caches; empty where they are not known.
        cached: costs that may have a part beyond caches, see `cached_blocks`.

    Raises:
        UserError: the model has no costs, or the runs do not state its parameters.
    """
    guesses = cost_names(application)
    if not guesses:
        raise UserError(
            f"{application.file} has no costs: variables whose default is a time, as in `var numeric: a = 1 ns`"
        )
    points = points_of(runs).thinned()
    columns, fixed = _linear(application, points, hardware, guesses)
    names = list(guesses)
    ways = _ways(guesses)
    found = _learnt(ways, columns, fixed, points)
    places = [place for place, name in enumerate(names) if name in cached]
    shares = (columns * found.costs)[:, places]
    beyond = cache_costs(points, levels, shares, [names[place] for place in places])
    if beyond:
        more = [columns[:, names.index(each.block)] * each.beyond for each in beyond]
        wide = {f"{name} and caches": _beside(way, len(more)) for name, way in ways.items()}
        found = _learnt(
            {**{name: _beside(way, len(more), used=False) for name, way in ways.items()}, **wide},
            np.column_stack([columns, *more]),
            fixed,
            points,
        )
    costs = dict(zip([*names, *(each.name for each in beyond)], map(float, found.costs), strict=True))
    kept = tuple(each for each in beyond if costs[each.name] > 0)
    return BlockCosts(
        costs={name: costs[name] for name in [*names, *(each.name for each in kept)]},
        law=found.law,
        points=points,
        runs=len(runs),
        noise=repeat_noise(runs),
        off=found.off,
        errors=found.errors,
        caches=kept,
    )


def _ways(guesses: Mapping[str, float]) -> dict[str, Floats]:
    """Return ways to learn costs, simplest first: vectors of costs, each to be multiplied by what runs teach."""
    start = np.array([float(name == START) for name in guesses])
    together = np.where(start > 0, 0.0, np.array(list(guesses.values())))
    both = {"one factor and the start": np.array([together, start])} if start.any() else {}
    return {"one factor": together[None], **both, "each cost": np.eye(len(guesses))}


def _beside(way: Floats, more: int, *, used: bool = True) -> Floats:
    """Return a way with further costs, each by itself; or none of them."""
    wide = np.pad(way, ((0, 0), (0, more)))
    return np.vstack([wide, np.eye(wide.shape[1])[way.shape[1] :]]) if used else wide


@dataclass(frozen=True, slots=True)
class _Learnt:
    """The costs of the way that foretold sizes best, with how far off each point was, and the error of each way."""

    law: str
    costs: Floats
    off: Floats
    errors: Mapping[str, float]


def _learnt(ways: Mapping[str, Floats], columns: Floats, fixed: Floats, points: Points) -> _Learnt:
    wanted, weights, sizes = points.seconds - fixed, 1 / points.seconds, int(points.sizes.max()) + 1
    first = next(iter(ways))
    possible = {name: way for name, way in ways.items() if sizes >= len(way) + 2 or name == first}
    known = {name: _solved(way, columns, wanted, weights) for name, way in possible.items()}
    known = {name: costs for name, costs in known.items() if name == first or (columns @ costs + fixed > 0).all()}
    off = {name: _left_out(possible[name], columns, fixed, points) for name in known} if sizes > 1 else {}
    errors = {name: float(np.mean(values)) for name, values in off.items()}
    best = first
    for name, error in errors.items():
        if error < _BETTER * errors[best]:
            best = name
    return _Learnt(best, known[best], off.get(best, np.zeros(0)), errors)


def _solved(way: Floats, columns: Floats, wanted: Floats, weights: Floats) -> Floats:
    return np.asarray(nnls((columns @ way.T) * weights[:, None], wanted * weights) @ way)


def _left_out(way: Floats, columns: Floats, fixed: Floats, points: Points) -> Floats:
    """Return the parts by which points are off as the other sizes foretell them."""
    found = np.zeros(len(points))
    folds = points.folds
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        costs = _solved(way, columns[~out], (points.seconds - fixed)[~out], 1 / points.seconds[~out])
        found[out] = np.abs((columns[out] @ costs + fixed[out]) / points.seconds[out] - 1)
    return found


def _linear(
    application: Application, points: Points, hardware: Hardware, guesses: Mapping[str, float]
) -> tuple[Floats, Floats]:
    """Return seconds for a microsecond of each cost, and the seconds that no cost explains.

    Derivatives where the runs are: a time is linear in its costs unless messages overlap work.
    """
    names = list(guesses)
    costs = np.array([guesses[name] for name in names])
    shared = [_At(application, points, place, hardware) for place in range(len(points))]
    for _ in range(_TURNS):
        base = np.array([at.seconds(dict(zip(names, costs, strict=True))) for at in shared])
        step = np.where(costs > 0, costs * _STEP, 1.0)
        columns = np.empty((len(points), len(names)))
        for place, name in enumerate(names):
            moved = {**dict(zip(names, costs, strict=True)), name: float(costs[place] + step[place])}
            columns[:, place] = (np.array([at.seconds(moved) for at in shared]) - base) / step[place]
        fixed = base - columns @ costs
        if np.abs(fixed).max() <= 1e-6 * base.max():
            return columns, np.zeros(len(points))
        scale = nnls(((columns @ costs) / points.seconds)[:, None], 1 - fixed / points.seconds)[0]
        if abs(scale - 1) < _SETTLED or not scale > 0:
            break
        costs = costs * scale
    return columns, np.minimum(fixed, 0.9 * points.seconds)


class _At:
    """A model at the parameters and processors of a point."""

    def __init__(self, application: Application, points: Points, place: int, hardware: Hardware) -> None:
        self._application = application
        processors = int(points.processors[place])
        self._hardware = hardware.with_processors(min(processors, hardware.processors))
        begun = {LAUNCHER: 0.0} if any(each.name == LAUNCHER for each in parameters(application)) else {}
        self._values = {**begun, **dict(zip(points.names, map(float, points.values[place]), strict=True))}
        self._hosts = max(1, round(processors / hardware.processors))

    def seconds(self, costs: Mapping[str, float]) -> float:
        """Return the run time with these costs."""
        given = {name: value for name, value in self._values.items() if name != PROCESSORS}
        return float(profile(self._application, self._hardware, [self._hosts], {**given, **costs})[0])
