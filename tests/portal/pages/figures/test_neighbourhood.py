from __future__ import annotations

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import PeerView
from cosched.portal.pages.figures.neighbourhood import BOX_HEIGHT, BOX_WIDTH, Flow, neighbourhood, peer_state

ROLES = st.lists(st.sampled_from(["upper", "lower", "neighbour"]), min_size=1, max_size=14)


def peer(name: str, role: str = "neighbour", *, fault: str = "", paused: bool = False, heard: bool = True) -> PeerView:
    return PeerView(
        name=name,
        address="far.example:8642",
        role=role,
        paused=paused,
        heard=1.0 if heard else None,
        hosts=16,
        free=4,
        hardware=(),
        given=0,
        taken=0,
        fault=fault,
    )


def test_upper_domains_stand_above_lower_ones_below_and_neighbours_beside() -> None:
    found = neighbourhood([peer("u", "upper"), peer("l", "lower"), peer("a"), peer("b")], {})
    places = {box.name: (box.x, box.y) for box in found.boxes}
    x, y = found.middle
    assert places["u"][0] == places["l"][0] == x
    assert places["u"][1] < y < places["l"][1]
    assert places["a"][0] < x < places["b"][0]
    assert places["a"][1] == places["b"][1] == y


def test_how_it_stands_with_a_neighbour_is_said_in_a_word() -> None:
    peers = [peer("a", fault="no route"), peer("b", paused=True), peer("c", heard=False), peer("d")]
    assert [peer_state(each) for each in peers] == ["away", "paused", "not heard of", "in touch"]


def test_lines_are_as_wide_as_many_tasks_went_along_them_and_point_there() -> None:
    found = neighbourhood([peer("a"), peer("b")], {"a": Flow(sent=10, received=5)})
    sent, received, *none = found.lines
    assert (sent.way, sent.count, sent.width) == ("sent", 10, 6.0)
    assert 1.5 < received.width < sent.width
    left, right = sent.head[0][0], received.head[0][0]
    assert left == found.boxes[0].x + BOX_WIDTH / 2  # the box of a is at the left
    assert right == found.middle[0] - BOX_WIDTH / 2
    assert [(line.count, line.head) for line in none] == [(0, ())] * 2


@given(ROLES)
def test_boxes_stay_inside_and_apart_and_lines_end_at_them(roles: list[str]) -> None:
    found = neighbourhood([peer(str(number), role) for number, role in enumerate(roles)], {})
    middles = [(box.x, box.y) for box in found.boxes] + [found.middle]
    assert len(found.boxes) == len(roles)
    for x, y in middles:
        assert BOX_WIDTH / 2 <= x <= found.width - BOX_WIDTH / 2
        assert BOX_HEIGHT / 2 <= y <= found.height - BOX_HEIGHT / 2
    for (x, y), (other_x, other_y) in combinations(middles, 2):
        assert abs(x - other_x) >= BOX_WIDTH or abs(y - other_y) >= BOX_HEIGHT
    assert all(math.dist(line.ends[:2], line.ends[2:]) > 10 for line in found.lines)
