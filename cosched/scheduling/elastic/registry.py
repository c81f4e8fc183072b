"""The registry finds elastic policies by name.

A new policy is a class (see `policy.ElasticPolicy`), a name in `ElasticPolicyName` and a line in `_CLASSES`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.fixed import Ideal, MoldableNow
from cosched.scheduling.elastic.harvesting import ImpactHarvest, ShortestRemainingHarvest
from cosched.scheduling.elastic.lenders import KeepPreferred, Marginal
from cosched.scheduling.elastic.sharing import Equi, HeSrpt, Satin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.scheduling.elastic.policy import ElasticPolicy, ElasticPolicyName

__all__ = ["ELASTIC_POLICIES"]

_CLASSES: tuple[type[ElasticPolicy], ...] = (
    Ideal,
    MoldableNow,
    ShortestRemainingHarvest,
    ImpactHarvest,
    Equi,
    HeSrpt,
    KeepPreferred,
    Satin,
    Marginal,
)
ELASTIC_POLICIES: Mapping[ElasticPolicyName, ElasticPolicy] = MappingProxyType(
    {policy.name: policy() for policy in _CLASSES}
)
"""Every policy by its name, in the order in which they are listed."""
