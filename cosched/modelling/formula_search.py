"""Search for the formula that explains run times best, by their relative errors.

Start at `best_formulas`.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.modelling.formula import Formula, Term, WorkingSet, number
from cosched.modelling.nnls import nnls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.modelling.points import Points

    Floats = NDArray[np.float64]

__all__ = [
    "IDLE",
    "best_formulas",
    "cached_formula",
    "possible_terms",
    "power_law",
    "refitted",
    "unseen_cache",
    "working_set",
]

MOST_TERMS = 3
_KEPT = 12  # formulas of one length from which longer ones are made
_USUAL = 0.005  # relative error below which formulas are as good as one another
_LIKELY = 4.0  # how much likelier the simpler of two exponents is, as a logarithm
IDLE = 0.5
"""How unusual it is that run times do not change with a parameter: whoever names one thinks that they do."""
_MOST_UNUSUAL = 2.5  # of the exponents of a term together
_MOST_POSSIBLE = 1500
_LEAST_LOG = 2.0  # value of a parameter from which its logarithm may count
# Power, power of the logarithm, and how unusual they are.
_POWERS: tuple[tuple[float, float, float], ...] = (
    (0.0, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (2.0, 0.0, 0.5),
    (3.0, 0.0, 1.0),
    (1.0, 1.0, 1.0),
    (0.0, 1.0, 1.0),
    (0.5, 0.0, 1.5),
    (1.5, 0.0, 1.5),
)
_SHARES = ((0.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.5), (-0.5, 0.0, 1.0), (-1.0, 1.0, 1.0), (1.0, 0.0, 1.0))
_RIDGE = 0.1  # of the exponents of a power law
_EXPONENT_DIGITS = 3
_MOST_EXPONENT = 5.0
_LEAST_GROWTH = 0.05  # of the least memory: what grows by less is lost in pages and libraries
_MOST_GROWTH = 1.5  # times that of the memory, which a working set that is part of it cannot exceed by much
_MIB = float(1 << 20)


class Possible(NamedTuple):
    """Terms that a formula may have, and how unusual each is."""

    terms: tuple[Term, ...]
    unusual: Floats


def possible_terms(points: Points) -> Possible:
    """Return the terms that runs at these points can tell apart."""
    large = points.values.min(axis=0) >= _LEAST_LOG
    each = [
        [item for item in (_POWERS if place in points.varying else _POWERS[:1]) if large[place] or not item[1]]
        for place in range(len(points.names))
    ]
    shares = _SHARES if points.processors_vary else _SHARES[:1]
    found: list[tuple[float, Term]] = []
    for *chosen, share in product(*each, shares):
        unusual = sum(item[2] for item in (*chosen, share))
        if unusual <= _MOST_UNUSUAL:
            powers, logs = tuple(item[0] for item in chosen), tuple(item[1] for item in chosen)
            found.append((unusual, Term(powers, logs, share[0], share[1])))
    found.sort(key=lambda item: item[0])
    del found[_MOST_POSSIBLE:]
    return Possible(tuple(term for _, term in found), np.array([unusual for unusual, _ in found]))


def best_formulas(
    points: Points,
    wanted: Floats,
    possible: Possible,
    most: int = MOST_TERMS,
    growing: int = MOST_TERMS,
    idle: float = 0.0,
) -> list[Formula]:
    """Return the best formulas of 1, 2, … terms; fewer where more terms need costs below 0.

    Args:
        points: where.
        wanted: what the formula is to give at each point, above 0.
        possible: terms to choose from.
        most: terms of the longest formula.
        growing: how many of them may be no constant.
        idle: how unusual it is that what is wanted does not change with a parameter that varies.
    """
    columns = np.array([term.at(points.values, points.processors) for term in possible.terms]).T / wanted[:, None]
    products, sums = columns.T @ columns, columns.sum(axis=0)
    constant = np.array([term.constant for term in possible.terms])
    has = np.array([[term.powers[place] or term.logs[place] for place in points.varying] for term in possible.terms])
    has = has.astype(bool).reshape(len(possible.terms), len(points.varying))
    begun: list[tuple[int, ...]] = [()]
    found: list[Formula] = []
    for length in range(1, most + 1):
        scored: dict[tuple[int, ...], float] = {}
        for chosen in begun:
            which = list(chosen)
            unusual = possible.unusual + possible.unusual[which].sum()
            unusual += idle * (~(has | has[which].any(axis=0))).sum(axis=1)
            if (~constant[which]).sum() >= growing:
                unusual[~constant] = math.inf
            for place, score in _extended(products, sums, len(wanted), chosen, unusual):
                key = tuple(sorted((*chosen, place)))
                scored[key] = min(score, scored.get(key, math.inf))
        begun = sorted(scored, key=lambda key: (scored[key], key))[:_KEPT]
        if not begun:
            break
        for chosen in begun:
            formula = Formula(tuple(possible.terms[place] for place in chosen), (1.0,) * length)
            best = refitted(formula, points, wanted)
            if best is not None and (best.at(points.values, points.processors) > 0).all():
                found.append(best)
                break
    return found


def _extended(
    products: Floats, sums: Floats, count: int, chosen: tuple[int, ...], unusual: Floats
) -> list[tuple[int, float]]:
    """Return the terms that best go with those chosen, each with its score: less is better.

    Args:
        products: of each pair of columns.
        sums: of the columns.
        count: of points.
        chosen: terms.
        unusual: how unusual these are with each further one, infinite where it may not be.
    """
    many, length = len(sums), len(chosen) + 1
    matrix, right = np.empty((many, length, length)), np.empty((many, length, 1))
    fixed = list(chosen)
    matrix[:, :-1, :-1] = products[np.ix_(fixed, fixed)]
    matrix[:, :-1, -1] = matrix[:, -1, :-1] = products[:, fixed]
    matrix[:, -1, -1] = np.diag(products)
    right[:, :-1, 0], right[:, -1, 0] = sums[fixed], sums
    lengths = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    scale = 1 / np.where(lengths > 0, lengths, 1.0)
    matrix = matrix * scale[:, :, None] * scale[:, None, :] + 1e-11 * np.eye(length)
    right = right * scale[:, :, None]
    costs = np.linalg.solve(matrix, right)
    squares = np.maximum(count - (costs * right).sum(axis=(1, 2)), 0.0) / count
    scores = count * np.log(squares + _USUAL**2) + _LIKELY * unusual
    usable = (costs[:, :, 0] > 0).all(axis=1) & np.isfinite(scores)
    usable[fixed] = False
    best = np.flatnonzero(usable)
    best = best[np.argsort(scores[best], kind="stable")][:_KEPT]
    return [(int(place), float(scores[place])) for place in best]


def refitted(formula: Formula, points: Points, wanted: Floats) -> Formula | None:
    """Return a formula with the best costs for these points; None if all would be 0."""
    costs = nnls(formula.columns(points.values, points.processors) / wanted[:, None], np.ones(len(wanted)))
    kept = [(term, float(number(cost))) for term, cost in zip(formula.terms, costs, strict=True) if cost > 0]
    if not kept:
        return None
    return Formula(tuple(term for term, _ in kept), tuple(cost for _, cost in kept), formula.working_set)


def power_law(points: Points) -> Formula:
    """Return the best single product with exponents of any kind, found in logarithms."""
    varying = points.varying
    columns = [np.log(points.values[:, place]) for place in varying]
    if points.processors_vary:
        columns.append(np.log(points.processors))
    logs, times = np.array(columns), np.log(points.seconds)
    centred = logs - logs.mean(axis=1, keepdims=True)
    prior = np.array([1.0] * len(varying) + [-0.7] * int(points.processors_vary))
    ridge = _RIDGE**2 * np.eye(len(columns))
    exponents = np.linalg.solve(centred @ centred.T + ridge, centred @ (times - times.mean()) + ridge @ prior)
    exponents = np.round(np.clip(exponents, -_MOST_EXPONENT, _MOST_EXPONENT), _EXPONENT_DIGITS)
    powers = [0.0] * len(points.names)
    for place, power in zip(varying, exponents.tolist(), strict=False):
        powers[place] = power
    share = float(exponents[-1]) if points.processors_vary else 0.0
    term = Term(tuple(powers), (0.0,) * len(powers), share)
    cost = math.exp(float(np.mean(times - np.log(term.at(points.values, points.processors)))))
    return Formula((term,), (float(number(cost)),))


def working_set(points: Points, possible: Possible) -> WorkingSet | None:
    """Return the growing memory of a process; None where it is not known or hardly grows, or no formula tells how."""
    growth = float(np.ptp(points.memory))
    if not (points.memory > 0).all() or growth < _LEAST_GROWTH * float(points.memory.min()):
        return None
    plain = Possible(
        tuple(term for term in possible.terms if not any(term.logs) and not term.processors_log),
        np.array([u for u, term in zip(possible.unusual, possible.terms, strict=True) if _plain(term)]),
    )
    found = best_formulas(points, points.memory, plain, 2)
    best = found[-1] if found else None
    if best is None or all(term.constant for term in best.terms):
        return None
    inside = WorkingSet(best)
    told = float(np.ptp(inside.at(points.values, points.processors)))
    return inside if told <= _MOST_GROWTH * growth else None


def unseen_cache(points: Points, levels: Sequence[float]) -> str:
    """Return a remark on the smallest cache that holds all working sets seen; empty where none does or nobody knows."""
    inside = working_set(points, possible_terms(points)) if len(levels) else None
    if inside is None:
        return ""
    most = float(inside.at(points.values, points.processors).max())
    place, level = next(((at, level) for at, level in enumerate(levels, 1) if level >= most > 0), (0, 0.0))
    if not place:
        return ""
    return (
        f"Working sets of processes go to {most / _MIB:.3g} MiB, within L{place} ({level / _MIB:.3g} MiB): "
        "a size beyond it takes longer than the model says"
    )


def _plain(term: Term) -> bool:
    return not any(term.logs) and not term.processors_log


def cached_formula(formula: Formula, points: Points, inside: WorkingSet, levels: Sequence[float]) -> Formula | None:
    """Return a formula with terms that cost more beyond the caches.

    None where the working set crosses none, or nothing is left of the time within a cache: a run takes some.

    Args:
        formula: the one without.
        points: where the runs were.
        inside: the working set of a process.
        levels: bytes of each cache.
    """
    bytes_ = inside.at(points.values, points.processors)
    crossed = [level for level in levels if (bytes_ > level).any() and (bytes_ <= level).any()]
    if not crossed:
        return None
    more = [
        Term(term.powers, term.logs, term.processors, term.processors_log, level)
        for term in formula.terms
        if not term.constant
        for level in crossed
    ]
    terms = (*formula.terms, *more)
    found = refitted(Formula(terms, (1.0,) * len(terms), inside), points, points.seconds)
    if found is None or not any(term.beyond for term in found.terms):
        return None
    return found if (found.at(points.values, points.processors) > 0).all() else None
