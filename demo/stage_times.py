"""How long stages of a tunable application are to work so that they take what they should on a pool; start at `fitted`.

A pool takes its time to begin a job and to say that it has ended. A stage on half of the hosts for twice as long is
only that if these seconds are in both times; else they would change the shapes that the ways are made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.tasks import AdmissionRule, Chain, Stage, TunableTask, admit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["NARROW", "StageTimes", "admitted_on_paper", "fitted", "ways_on_paper"]

NARROW = 2
"""A narrow stage takes a wide one's hosts divided by this, for as many times as long."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds of stages.

    Attributes:
        wide: of work on all hosts.
        narrow: of work on a part of them.
        beside_wide: from the decision until the next stage's, beside the work of a wide one.
        beside_narrow: likewise of a narrow one.
    """

    wide: float
    narrow: float
    beside_wide: float
    beside_narrow: float

    @property
    def period(self) -> float:
        """Return for how long a wide stage has its hosts; a narrow one has them `NARROW` times as long."""
        return self.wide + self.beside_wide


def fitted(wide: float, beside_wide: Sequence[float], beside_narrow: Sequence[float]) -> StageTimes:
    """Return the times with which stages have hosts in the shapes that they should have.

    Args:
        wide: seconds of work of a wide stage, at least; it works for as long as the pool takes beside it, else most of
            what is measured would be the pool.
        beside_wide: seconds that wide stages took on an idle pool beside their work.
        beside_narrow: likewise of narrow ones.
    """
    wider, narrower = (max(median(each), 0.0) for each in (beside_wide, beside_narrow))
    wide = max(wide, wider, narrower)
    return StageTimes(wide, NARROW * (wide + wider) - narrower, wider, narrower)


def ways_on_paper(hosts: int, due: float) -> dict[str, Chain]:
    """Return the fine and the coarse way by their names, in wide stages.

    Args:
        hosts: of a wide stage.
        due: of the last one's end, from the arrival.
    """
    few = hosts // NARROW
    fine = Chain((Stage(hosts, 1.0), Stage(few, float(NARROW), due)))
    return {"fine": fine, "coarse": Chain((Stage(few, float(NARROW)), Stage(hosts, 1.0, due)))}


def admitted_on_paper(moments: Iterable[float], ways: Sequence[Chain], hosts: int) -> int:
    """Return how many of the images that arrive at these moments are in time where nothing takes other than it should.

    Args:
        moments: ascending, in wide stages.
        ways: that an image may take.
        hosts: how many there are.
    """
    holes, count = Holes([0.0] * hosts), 0
    for moment in moments:
        holes.forget(moment)
        count += admit(holes, TunableTask("image", moment, tuple(ways)), AdmissionRule.THRIFTY) is not None
    return count
