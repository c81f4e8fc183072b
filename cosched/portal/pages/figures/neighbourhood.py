"""Lay out the map of neighbouring domains: this one in the middle, with the tasks that went and came between.

Upper domains stand above it, lower ones below, neighbours at its sides. Start at `neighbourhood`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.api.documents import PeerView

__all__ = ["DomainBox", "Flow", "FlowLine", "Neighbourhood", "neighbourhood", "peer_state"]

BOX_WIDTH, BOX_HEIGHT = 168.0, 48.0  # SVG units, as all lengths here
_WIDTH = 640.0  # with boxes at both sides
_MARGIN = 6.0
_ACROSS, _DOWN = 72.0, 62.0  # between the middles of boxes in a column; between two rows of boxes
_IN_ROW = 3
_APART = 7.0  # of each of the two lines between two boxes from the middle between them
_THIN, _THICK = 1.5, 6.0
_HEAD = 9.0
_LABEL = 12.0  # of a number from its line


@dataclass(frozen=True, slots=True)
class Flow:
    """How many tasks went to a neighbour, and how many of them came back without a run; how many came from it."""

    sent: int = 0
    back: int = 0
    received: int = 0


@dataclass(frozen=True, slots=True)
class DomainBox:
    """A domain; `x` and `y` are the middle of its box.

    Attributes:
        state: "in touch", "away", "paused" or "not heard of".
    """

    name: str
    state: str
    free: int
    hosts: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class FlowLine:
    """Tasks that went one way between two domains.

    Attributes:
        way: "sent" or "received".
        ends: x and y of where it begins and ends.
        width: of the line, by how many they were.
        head: corners of its arrow; none where no task went.
        label: where the number stands.
    """

    way: str
    count: int
    ends: tuple[float, float, float, float]
    width: float
    head: tuple[tuple[float, float], ...]
    label: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The map: boxes of the neighbours, this domain's middle, the lines between, and how large it is."""

    boxes: tuple[DomainBox, ...]
    middle: tuple[float, float]
    lines: tuple[FlowLine, ...]
    width: float
    height: float


def peer_state(peer: PeerView) -> str:
    """Return in a word or two how it stands with a neighbour."""
    if peer.fault:
        return "away"
    if peer.paused:
        return "paused"
    return "not heard of" if peer.heard is None else "in touch"


def neighbourhood(peers: Sequence[PeerView], flows: Mapping[str, Flow]) -> Neighbourhood:
    """Return the map of some neighbours, with the tasks that went to and came from each."""
    upper, lower = ([peer for peer in peers if peer.role == role] for role in ("upper", "lower"))
    beside = [peer for peer in peers if peer.role not in ("upper", "lower")]
    left, right = beside[::2], beside[1::2]
    above = math.ceil(len(upper) / _IN_ROW) * (BOX_HEIGHT + _DOWN)
    tall = max(len(left), len(right), 1) * _ACROSS - (_ACROSS - BOX_HEIGHT)
    middle = (_WIDTH / 2, _MARGIN + above + tall / 2)
    below = _MARGIN + above + tall + _DOWN
    boxes = [
        *_rows(upper, _MARGIN),
        *_column(left, _MARGIN + BOX_WIDTH / 2, middle[1]),
        *_column(right, _WIDTH - _MARGIN - BOX_WIDTH / 2, middle[1]),
        *_rows(lower, below),
    ]
    most = max([count for flow in flows.values() for count in (flow.sent, flow.received)], default=0)
    lines = [line for box in boxes for line in _lines(middle, box, flows.get(box.name, Flow()), most)]
    height = max([box.y for box in boxes] + [middle[1]]) + BOX_HEIGHT / 2 + _MARGIN
    right_end = max([box.x for box in boxes] + [middle[0]]) + BOX_WIDTH / 2 + _MARGIN
    return Neighbourhood(tuple(boxes), middle, tuple(lines), right_end, height)


def _rows(peers: Sequence[PeerView], top: float) -> list[DomainBox]:
    found = []
    for first in range(0, len(peers), _IN_ROW):
        row = peers[first : first + _IN_ROW]
        y = top + BOX_HEIGHT / 2 + first // _IN_ROW * (BOX_HEIGHT + _DOWN)
        found += [_box(peer, _WIDTH * (place + 0.5) / len(row), y) for place, peer in enumerate(row)]
    return found


def _column(peers: Sequence[PeerView], x: float, middle: float) -> list[DomainBox]:
    top = middle - (len(peers) - 1) / 2 * _ACROSS
    return [_box(peer, x, top + place * _ACROSS) for place, peer in enumerate(peers)]


def _box(peer: PeerView, x: float, y: float) -> DomainBox:
    return DomainBox(peer.name, peer_state(peer), peer.free, peer.hosts, x, y)


def _lines(middle: tuple[float, float], box: DomainBox, flow: Flow, most: int) -> list[FlowLine]:
    """Return the lines to and from a neighbour, beside each other."""
    here, there = _edge(middle, (box.x, box.y)), _edge((box.x, box.y), middle)
    length = math.dist(here, there)
    along = ((there[0] - here[0]) / length, (there[1] - here[1]) / length)
    aside = (-along[1] * _APART, along[0] * _APART)

    def moved(point: tuple[float, float], by: float) -> tuple[float, float]:
        return point[0] + by * aside[0], point[1] + by * aside[1]

    return [
        _line("sent", flow.sent, moved(here, -1), moved(there, -1), most),
        _line("received", flow.received, moved(there, 1), moved(here, 1), most),
    ]


def _line(way: str, count: int, begin: tuple[float, float], end: tuple[float, float], most: int) -> FlowLine:
    length = math.dist(begin, end)
    along = ((end[0] - begin[0]) / length, (end[1] - begin[1]) / length)
    aside = (along[1], -along[0])  # away from the other of the two lines
    width = _THIN + (_THICK - _THIN) * count / most if count else _THIN
    half = width / 2 + 3.0
    foot = (end[0] - _HEAD * along[0], end[1] - _HEAD * along[1])
    head = (end, *[(foot[0] + side * half * aside[0], foot[1] + side * half * aside[1]) for side in (1, -1)])
    label = tuple([(one + other) / 2 + _LABEL * by for one, other, by in zip(begin, end, aside, strict=True)])
    stop = foot if count else end
    return FlowLine(way, count, (*begin, *stop), width, head if count else (), (label[0], label[1]))


def _edge(box: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Return where the way from a box's middle towards a point leaves the box."""
    across, down = towards[0] - box[0], towards[1] - box[1]
    part = min(
        BOX_WIDTH / 2 / abs(across) if across else math.inf,
        BOX_HEIGHT / 2 / abs(down) if down else math.inf,
    )
    return box[0] + part * across, box[1] + part * down
