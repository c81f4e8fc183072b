"""Counts at several sizes become a formula: a sum of few monomials in the parameters and atoms.

Start at `Solver`. Atoms are logarithms, quotients that are rounded, and bounds that the source names. Monomials are
chosen by orthogonal matching pursuit with a beam (Pati et al. 1993), on relative residuals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from cosched.modelling.derivation.expressions import Value, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["CountFormula", "CountTerm", "Solver", "added"]

_MOST_TERMS = 4
_BEAM = 40
_SPARE = 3  # sizes beyond the number of terms that a formula must meet before it counts as exact
_EXACT = 1e-9
_DENOMINATORS = 24
_NEAR = 1e-5  # of a coefficient and its fraction, before the exact test
_MOST_DEGREE = 4
_MOST_MONOMIALS = 4000
_TRIED = 20  # approximate forms of a number of terms
_MOST_SMOOTH = 2  # terms of an approximation
_MOST_PAIRED = 10
_FACTORS = (1, 2, 20, 2000)  # halves
_NEARLY, _NEGLIGIBLE = 1.5, 0.002  # errors of approximate forms that count as the same
_FAR = 1000
_BREVITY = 0.3  # a form of two terms must err this power of two less
_SHIFTS = ("-2", "-1", "+1", "+2")


@dataclass(frozen=True, slots=True)
class CountTerm:
    """A coefficient times factors, each an expression of PSL with its power."""

    coefficient: Fraction | float
    factors: tuple[tuple[str, int], ...]

    def value(self, size: Mapping[str, int]) -> Value:
        """Return its value at a size."""
        found: Value = Fraction(1)
        for text, power in self.factors:
            found *= evaluate(text, size) ** power
        return self.coefficient * found

    def text(self) -> str:
        """Return it as PSL writes it, without its sign."""
        size = abs(self.coefficient)
        factors = [_raised(text, power) for text, power in self.factors if power > 0]
        divisors = "".join(f" / {_raised(text, -power)}" for text, power in self.factors if power < 0)
        if isinstance(size, Fraction):
            number, divisor = str(size.numerator), f" / {size.denominator}" if size.denominator > 1 else ""
        else:
            number, divisor = f"{size:.6g}", ""
        return " * ".join([*([] if number == "1" and factors else [number]), *factors]) + divisors + divisor

    def over(self, other: CountTerm) -> CountTerm:
        """Return it divided by another one."""
        powers = dict(self.factors)
        for text, power in other.factors:
            powers[text] = powers.get(text, 0) - power
        left = tuple((text, power) for text, power in powers.items() if power)
        return CountTerm(self.coefficient / other.coefficient, left)


@dataclass(frozen=True, slots=True)
class CountFormula:
    """A count as a function of the parameters.

    Attributes:
        terms: those added.
        exact: whether every count was met.
        error: of an approximate one: the greatest relative error at a size left out.
    """

    terms: tuple[CountTerm, ...]
    exact: bool
    error: float = 0.0

    def value(self, size: Mapping[str, int]) -> Value:
        """Return the count at a size."""
        found: Value = Fraction(0)
        for term in self.terms:
            found += term.value(size)
        return found

    def text(self) -> str:
        """Return it as PSL writes it."""
        if not self.terms:
            return "0"
        first = self.terms[0]
        if len(self.terms) == 1 and first.coefficient == 1 and len(first.factors) == 1 and first.factors[0][1] == 1:
            return first.factors[0][0]
        found = ""
        for place, term in enumerate(self.terms):
            sign = "-" if term.coefficient < 0 else "+" if place else ""
            found += f" {sign} {term.text()}" if place else f"{sign}{term.text()}"
        return found


def added(formulas: Iterable[CountFormula]) -> CountFormula:
    """Return the sum of formulas."""
    several = list(formulas)
    terms: dict[tuple[tuple[str, int], ...], Fraction | float] = {}
    for term in (term for formula in several for term in formula.terms):
        terms[term.factors] = terms.get(term.factors, Fraction(0)) + term.coefficient
    return CountFormula(
        tuple(CountTerm(coefficient, factors) for factors, coefficient in terms.items() if coefficient),
        all(formula.exact for formula in several),
        max((formula.error for formula in several), default=0.0),
    )


@dataclass(frozen=True, slots=True)
class _Monomial:
    factors: tuple[tuple[str, int], ...]
    cost: float  # of a reader's attention


class Solver:
    """Finds formulas for counts at the same sizes."""

    def __init__(self, sizes: Sequence[Mapping[str, int]], bounds: Iterable[str] = ()) -> None:
        """Work out the monomials at these sizes.

        Args:
            sizes: of the runs, all different.
            bounds: expressions in the parameters that may occur; from the source.
        """
        self._sizes = sizes
        names = [name for name in sizes[0] if len({size[name] for size in sizes}) > 1]
        atoms = [*_atoms(names, sizes), *bounds]
        plain = [*_powers(names)]
        rounded = [
            _Monomial((*each.factors, (atom, 1)), each.cost + 3)
            for atom in atoms
            for each in plain
            if _degree(each) < _MOST_DEGREE
        ]
        shifted = [*_shifted(names)]
        self._pools = [
            self._pool(plain),
            self._pool([*plain, *shifted]),
            self._pool([*plain, *rounded]),
            self._pool([*plain, *_two_atoms(names, atoms), *rounded, *shifted]),
        ]
        self._smooth = self._pool([*plain, *_logarithms(names)])

    def solve(self, counts: Sequence[int]) -> CountFormula:
        """Return the simplest formula that meets all counts, else the best approximation."""
        target = np.array(counts, dtype=float)
        if not target.any():
            return CountFormula((), exact=True)
        if len(set(counts)) == 1:
            return CountFormula((CountTerm(Fraction(counts[0]), ()),), exact=True)
        best: CountFormula | None = None
        most = min(_MOST_TERMS, len(counts) - _SPARE, max(len(set(counts)) - _SPARE, 1))
        for pool in self._pools:
            best = self._exact(pool, counts, target, most) or best
            if best:
                most = min(len(best.terms) - 1, 2)  # a longer form is no simpler
        return best or self._approximate(target)

    def approximate(self, counts: Sequence[float]) -> CountFormula:
        """Return the best approximation of counts that are not the same in every run."""
        return self._approximate(np.array(counts, dtype=float))

    def _pool(self, monomials: Sequence[_Monomial]) -> _Pool:
        """Return monomials that differ at these sizes, each group of equal ones by its simplest."""
        seen: dict[bytes, tuple[_Monomial, NDArray[np.float64]]] = {}
        values: dict[str, NDArray[np.float64] | None] = {}
        for each in sorted(monomials, key=lambda monomial: monomial.cost):
            column = self._column(each, values)
            if column is None or not column.any() or len(seen) >= _MOST_MONOMIALS:
                continue
            seen.setdefault((column / np.abs(column).max()).round(13).tobytes(), (each, column))
        return _Pool([each for each, _column in seen.values()], np.array([column for _each, column in seen.values()]))

    def _column(self, monomial: _Monomial, values: dict[str, NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
        found = np.ones(len(self._sizes))
        for text, power in monomial.factors:
            if text not in values:
                try:
                    values[text] = np.array([float(evaluate(text, size)) for size in self._sizes])
                except ValueError:
                    values[text] = None
            column = values[text]
            if column is None:
                return None
            found = found * column**power
        return found

    def _exact(self, pool: _Pool, counts: Sequence[int], target: NDArray[np.float64], most: int) -> CountFormula | None:
        for found in _pursued(pool, target, most):
            met = [
                (cost, formula)
                for cost, chosen in found
                if (formula := self._snapped(pool, chosen, target)) is not None and self._meets(formula, counts)
            ]
            if met:
                return min(met, key=lambda pair: pair[0] + _cost(pair[1]))[1]
        return None

    def _snapped(self, pool: _Pool, chosen: Sequence[int], target: NDArray[np.float64]) -> CountFormula | None:
        """Return the sum of chosen monomials with rational coefficients; None where they are not."""
        terms = []
        for place, number in zip(chosen, _coefficients(pool.columns[list(chosen)], target), strict=True):
            near = Fraction(float(number)).limit_denominator(_DENOMINATORS)
            if near == 0 or abs(near - number) > 1e-5 * max(1.0, abs(number)):
                return None
            terms.append(
                (float(abs(near) * np.abs(pool.columns[place]).mean()), CountTerm(near, pool.monomials[place].factors))
            )
        return CountFormula(tuple(term for _size, term in sorted(terms, key=lambda pair: -pair[0])), exact=True)

    def _meets(self, formula: CountFormula, counts: Sequence[int]) -> bool:
        return all(
            abs(float(formula.value(size) - count)) <= _EXACT * max(1, count)
            for size, count in zip(self._sizes, counts, strict=True)
        )

    def _approximate(self, target: NDArray[np.float64]) -> CountFormula:
        """Return the slowest growing form of those with nearly the least error."""
        pool = self._smooth
        forms: list[CountFormula] = []
        for found in _pursued(pool, target, min(_MOST_SMOOTH, len(target) - _SPARE)):
            for _cost, chosen in found[:_TRIED]:
                numbers: list[Value] = [float(number) for number in _coefficients(pool.columns[list(chosen)], target)]
                error = self._left_out(pool, chosen, target)
                forms.append(CountFormula(_terms(pool, chosen, numbers), exact=False, error=error))
        forms = [form for form in forms if self._positive(form)]
        if not forms:
            return CountFormula(
                (CountTerm(float(target.mean()), ()),), exact=False, error=float(np.ptp(target) / target.mean())
            )
        bound = _NEARLY * min(form.error for form in forms) + _NEGLIGIBLE
        near = (form for form in forms if form.error <= bound)
        return min(near, key=lambda form: (self._growth(form), form.error * len(form.terms) ** _BREVITY))

    def _positive(self, form: CountFormula) -> bool:
        """Return whether a form stays positive far above the sizes and somewhat below."""
        if all(term.coefficient >= 0 for term in form.terms):
            return True
        return all(
            float(form.value({name: max(value * factor // 2, 1) for name, value in size.items()})) > 0
            for size in self._sizes
            for factor in _FACTORS
        )

    def _growth(self, form: CountFormula) -> int:
        """Return the logarithm of a form's values far above the sizes, rounded."""
        far = [{name: value * _FAR for name, value in size.items()} for size in self._sizes]
        return round(sum(math.log(float(form.value(size))) for size in far) / len(far))

    def _left_out(self, pool: _Pool, chosen: Sequence[int], target: NDArray[np.float64]) -> float:
        """Return the greatest relative error at counts left out: each one, and the greatest third together."""
        columns = pool.columns[list(chosen)]
        places = np.arange(len(target))
        parts = [places == place for place in places]
        parts.append(np.isin(places, np.argsort(target)[-(len(target) // 3) :]))
        worst = 0.0
        for part in parts:
            predicted = _coefficients(columns[:, ~part], target[~part]) @ columns[:, part]
            worst = max(worst, float((np.abs(predicted - target[part]) / np.maximum(target[part], 1.0)).max()))
        return worst


@dataclass(frozen=True, slots=True)
class _Pool:
    monomials: Sequence[_Monomial]
    columns: NDArray[np.float64]  # a row for each monomial


def _terms(pool: _Pool, chosen: Sequence[int], numbers: Sequence[Value]) -> tuple[CountTerm, ...]:
    """Return the sum of chosen monomials, the greatest first."""
    found = [(place, number) for place, number in zip(chosen, numbers, strict=True) if number]
    found.sort(key=lambda pair: -abs(float(pair[1])) * float(np.abs(pool.columns[pair[0]]).mean()))
    return tuple(CountTerm(number, pool.monomials[place].factors) for place, number in found)


def _pursued(pool: _Pool, target: NDArray[np.float64], most: int) -> Iterator[list[tuple[float, tuple[int, ...]]]]:
    """Yield the nearest sums of one term, then of two and so on, with costs."""
    weights = 1 / np.maximum(target, 1)
    rows = pool.columns * weights
    wanted = target * weights
    states: list[tuple[int, ...]] = [()]
    for _ in range(most):
        found: dict[tuple[int, ...], float] = {}
        for chosen in states:
            basis = np.linalg.qr(rows[list(chosen)].T)[0] if chosen else np.zeros((len(target), 0))
            rest = wanted - basis @ (basis.T @ wanted)
            free = rows - (rows @ basis) @ basis.T
            free = free - (free @ basis) @ basis.T  # once more, for what rounding left
            norms = (free**2).sum(axis=1)
            usable = norms > 1e-16 * (rows**2).sum(axis=1)
            gains = np.where(usable, (free @ rest) ** 2 / np.where(usable, norms, 1), 0)
            left = max(float(rest @ rest), 0.0)
            for place in np.argsort(-gains)[:_BEAM]:
                if usable[place]:
                    found.setdefault(tuple(sorted((*chosen, int(place)))), left - float(gains[place]))
        nearest = sorted(found, key=lambda chosen: found[chosen])[:_BEAM]
        if not nearest:
            return
        states = nearest
        yield [(sum(pool.monomials[place].cost for place in chosen), chosen) for chosen in nearest]


def _coefficients(columns: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least squares of the relative residuals."""
    weights = 1 / np.maximum(target, 1)
    rows = columns * weights
    scales = np.sqrt((rows**2).sum(axis=1))
    scales[scales == 0] = 1
    found: NDArray[np.float64] = np.linalg.lstsq((rows / scales[:, None]).T, target * weights, rcond=None)[0]
    return np.asarray(found / scales)


def _powers(names: Sequence[str]) -> Iterator[_Monomial]:
    for powers in product(range(_MOST_DEGREE), repeat=len(names)):
        if sum(powers) <= max(_MOST_DEGREE, 0) or max(powers, default=0) <= 1:
            yield _Monomial(
                tuple((name, power) for name, power in zip(names, powers, strict=True) if power), 1 + float(sum(powers))
            )


def _shifted(names: Sequence[str]) -> Iterator[_Monomial]:
    """Yield products of parameters, some of them less or more a small number."""
    options = [[None, name, *(f"{name} {shift[0]} {shift[1:]}" for shift in _SHIFTS)] for name in names]
    for chosen in product(*options):
        texts = [text for text in chosen if text is not None]
        moved = sum(" " in text for text in texts)
        if moved and (len(names) <= _MOST_DEGREE or moved <= 2):
            yield _Monomial(tuple((text, 1) for text in texts), 1 + len(texts) + 1.5 * moved)
    for name in names:
        for shift in (-1, 1):
            yield _Monomial(((name, 1), (f"{name} {'-' if shift < 0 else '+'} 1", 1)), 4.5)


def _atoms(names: Sequence[str], sizes: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Yield logarithms and rounded quotients of the parameters."""
    for name in names:
        if all(size[name] >= 1 for size in sizes):
            powers = all(size[name] & (size[name] - 1) == 0 for size in sizes)
            yield from (f"log2({name})",) if powers else (f"floor(log2({name}))", f"ceil(log2({name}))")
    for one, other in product(names, repeat=2):
        if one != other and all(size[other] > 0 for size in sizes):
            yield f"floor({one} / {other})"
            yield f"ceil({one} / {other})"


def _two_atoms(names: Sequence[str], atoms: Sequence[str]) -> Iterator[_Monomial]:
    """Yield powers of atoms and products of two, with parameters."""
    few = atoms[:_MOST_PAIRED]
    for place, one in enumerate(few):
        pairs = [((one, 2),), ((one, 3),), *(((one, 1), (other, 1)) for other in few[place + 1 :])]
        for factors in pairs:
            yield _Monomial(factors, 8)
            yield from (_Monomial(((name, power), *factors), 8.0 + power) for name in names for power in (1, 2))


def _logarithms(names: Sequence[str]) -> Iterator[_Monomial]:
    for each in _powers(names):
        if _degree(each) < _MOST_DEGREE - 1:
            for name in names:
                yield _Monomial((*each.factors, (f"log2(max({name}, 1))", 1)), each.cost + 3)


def _degree(monomial: _Monomial) -> int:
    return sum(power for _text, power in monomial.factors)


def _cost(formula: CountFormula) -> float:
    numbers = [Fraction(term.coefficient) for term in formula.terms]
    return sum(math.log2(abs(number.numerator) * number.denominator**2) / 4 for number in numbers)


def _raised(text: str, power: int) -> str:
    return _bracketed(text) + (f"^{power}" if power > 1 else "")


def _bracketed(text: str) -> str:
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            return f"({text})"
    return text
