"""A formula is a sum of products of powers of parameters.

Start at `Formula`; `formula_search` finds one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.language.vocabulary import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Formula", "Term", "number"]

_DIGITS = 9


def number(value: float) -> str:
    """Return a number as PSL writes it."""
    return f"{value:.{_DIGITS}g}"


@dataclass(frozen=True, slots=True)
class Term:
    """A product of powers of parameters, their logarithms and the processors.

    Attributes:
        powers: of each parameter.
        logs: of the logarithm of each to base 2.
        processors: power of the number of processors.
        processors_log: that of its logarithm.
        beyond: bytes of a cache: the term counts by the part of the working set that does not fit; 0 for all of it.
    """

    powers: tuple[float, ...]
    logs: tuple[float, ...]
    processors: float = 0.0
    processors_log: float = 0.0
    beyond: float = 0.0

    @property
    def constant(self) -> bool:
        """Return whether it is the same for all sizes and processors."""
        return not (any(self.powers) or any(self.logs) or self.processors or self.processors_log)

    def at(self, values: Floats, processors: Floats, working_set: Floats | None = None) -> Floats:
        """Return the product at points, without its cost.

        Args:
            values: shape (points, parameters).
            processors: shape (points,).
            working_set: bytes at each point, for terms of a cache.
        """
        found = np.ones(len(values))
        for place, (power, log) in enumerate(zip(self.powers, self.logs, strict=True)):
            if power:
                found = found * values[:, place] ** power
            if log:
                found = found * np.maximum(0.0, np.log2(values[:, place])) ** log
        if self.processors:
            found = found * processors**self.processors
        if self.processors_log:
            found = found * np.log2(processors) ** self.processors_log
        if self.beyond:
            assert working_set is not None, "terms of a cache need a working set"
            found = found * np.maximum(0.0, 1 - self.beyond / working_set)
        return np.asarray(found)

    def psl(self, names: Sequence[str], working_set: str = "") -> list[str]:
        """Return the factors and divisors as PSL, each with its sign: ` * nx`, ` / Nproc`."""
        found = []
        for name, power, log in zip(
            (*names, PROCESSORS), (*self.powers, self.processors), (*self.logs, self.processors_log), strict=True
        ):
            if power:
                found.append(f" {'*' if power > 0 else '/'} {_power(name, abs(power))}")
            if log:
                logarithm = f"log2({name})" if name == PROCESSORS else f"max(0, log2({name}))"
                found.append(f" * {_power(logarithm, log)}")
        if self.beyond:
            found.append(f" * max(0, 1 - {number(self.beyond)} B / {working_set})")
        return found


def _power(base: str, power: float) -> str:
    return base if power == 1 else f"{base} ^ {number(power)}"


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """The working set of a process is its memory without what every process takes.

    Attributes:
        formula: bytes of it all.
    """

    formula: Formula

    def at(self, values: Floats, processors: Floats) -> Floats:
        """Return bytes at points."""
        return self._grown().at(values, processors)

    def psl(self, names: Sequence[str]) -> str:
        """Return it as an expression in brackets."""
        return f"({self._grown().psl(names, 'B')})"

    def _grown(self) -> Formula:
        kept = [item for item in zip(self.formula.terms, self.formula.costs, strict=True) if not item[0].constant]
        return Formula(tuple(term for term, _ in kept), tuple(cost for _, cost in kept))


@dataclass(frozen=True, slots=True)
class Formula:
    """A sum of terms with their costs.

    Attributes:
        terms: at least one.
        costs: of each, above 0, rounded to the digits that are written.
        working_set: what terms of a cache go by.
    """

    terms: tuple[Term, ...]
    costs: tuple[float, ...]
    working_set: WorkingSet | None = None

    @property
    def grows(self) -> bool:
        """Return whether it depends on a parameter."""
        return any(any(term.powers) or any(term.logs) for term in self.terms)

    def at(self, values: Floats, processors: Floats) -> Floats:
        """Return its value at points, see `Term.at`."""
        return np.asarray(self.columns(values, processors) @ np.array(self.costs))

    def columns(self, values: Floats, processors: Floats) -> Floats:
        """Return the terms at points, shape (points, terms)."""
        fits = None if self.working_set is None else self.working_set.at(values, processors)
        return np.array([term.at(values, processors, fits) for term in self.terms]).T

    def psl(self, names: Sequence[str], unit: str = "s") -> str:
        """Return it as PSL, each cost with a unit."""
        inside = "" if self.working_set is None else self.working_set.psl(names)
        return " + ".join(
            f"{_quantity(cost, unit)}{''.join(term.psl(names, inside))}"
            for term, cost in zip(self.terms, self.costs, strict=True)
        )


def _quantity(cost: float, unit: str) -> str:
    """Return a cost with a unit; a time with one in which it is easily read."""
    if unit == "s":
        for name, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
            if cost * factor >= 0.1 or name == "ns":
                return f"{number(cost * factor)} {name}"
    return f"{number(cost)} {unit}"
