"""What blocks of a derived model cost more where their data do not fit into a cache.

Start at `cache_costs`. The working set is the memory of a process that grows with the parameters, as runs tell it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.modelling.formula import number
from cosched.modelling.formula_search import possible_terms, working_set

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from cosched.modelling.points import Points

    Floats = NDArray[np.float64]

__all__ = ["CacheCost", "cache_costs", "cached_blocks", "with_cache_costs"]

_MEASURED = r"<is measured,\s*{}\s*\*\s*([^;]*)>;"
_BLOCK = re.compile(_MEASURED.format(r"(\w+)"))
_OURS = re.compile(r"\w+_beyond_L\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class CacheCost:
    """A cost of a block that counts by the part of the working set beyond a cache.

    Attributes:
        name: of the variable in the model.
        block: name of the block's own cost.
        level: bytes of the cache.
        working_set: of a process, in PSL.
        beyond: that part at each point.
    """

    name: str
    block: str
    level: float
    working_set: str
    beyond: Floats

    def told(self) -> str:
        """Return a comment about it."""
        cache = self.name.rpartition("_")[2]
        return f"beyond {cache}, {number(self.level)} B, of a working set of {self.working_set[1:-1]}"


def cached_blocks(skeleton: str) -> set[str]:
    """Return the costs of a derived model that may have a part beyond caches; none where some have it already."""
    found = {match[1] for match in _BLOCK.finditer(skeleton)}
    return set() if any(map(_OURS.fullmatch, found)) else found


def cache_costs(points: Points, levels: Sequence[float], shares: Floats, names: Sequence[str]) -> list[CacheCost]:
    """Return the costs beyond each cache that working sets cross, of the block that takes most of the time.

    Args:
        points: where the runs were.
        levels: bytes of each cache of the hosts, ascending.
        shares: seconds of each block at each point, shape (points, names).
        names: of the blocks' costs.
    """
    inside = working_set(points, possible_terms(points)) if len(levels) and len(names) else None
    if inside is None:
        return []
    bytes_ = inside.at(points.values, points.processors)
    if not (bytes_ > 0).all():
        return []
    block = names[int(np.argmax((shares / points.seconds[:, None]).mean(axis=0)))]
    text = inside.psl(points.names)
    return [
        CacheCost(f"{block}_beyond_L{place}", block, level, text, np.maximum(0.0, 1 - level / bytes_))
        for place, level in enumerate(levels, 1)
        if (bytes_ > level).any() and (bytes_ <= level).any()
    ]


def with_cache_costs(skeleton: str, costs: Collection[CacheCost]) -> str:
    """Return a derived model with these costs, each a guess of 1 ns, beside their blocks' own."""
    for cost in costs:
        declared = rf"(\bvar numeric: {re.escape(cost.block)} = [^;]*;)"
        skeleton = re.sub(declared, rf"\g<1>\n    var numeric: {cost.name} = 1 ns;", skeleton, count=1)
        part = f"max(0, 1 - {number(cost.level)} B / {cost.working_set})"
        more = rf"\g<0>\n        (* {cost.told()} *)\n        compute <is measured, {cost.name} * \g<1> * {part}>;"
        skeleton = re.sub(_MEASURED.format(re.escape(cost.block)), more, skeleton)
    return skeleton
