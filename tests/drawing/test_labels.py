from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from cosched.drawing.labels import Label, place_labels

WIDTH, HEIGHT = 640.0, 360.0
POINTS = st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT))
PATHS = st.lists(st.lists(POINTS, min_size=1, max_size=4), max_size=2)
LINES = st.lists(st.tuples(st.text(min_size=1, max_size=30), PATHS), max_size=7)


def box(name: str, label: Label) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of the letters, as a phone shows them."""
    long = 9.0 * len(name)
    left = label.x - long if label.anchor == "end" else label.x
    return left, label.y - 16, left + long, label.y + 3


def test_a_name_stands_above_the_end_of_its_line() -> None:
    (label,) = place_labels(["fft"], [[[(0, 0), (320, 180), (640, 270)]]], WIDTH, HEIGHT)
    assert label == Label(636, 261, "end")


def test_a_name_makes_way_for_a_line_that_goes_where_it_would_stand() -> None:
    steep = [(500.0, 0.0), (560.0, 250.0), (600.0, 255.0), (640.0, 260.0)]
    (label,) = place_labels(["from the left"], [[steep]], WIDTH, HEIGHT)
    assert label is not None
    assert label.y > 260


def test_lines_that_end_together_have_names_above_each_other() -> None:
    lines = [[[(0.0, 0.0), (640.0, 200.0)]], [[(0.0, 300.0), (640.0, 200.0)]]]
    one, other = place_labels(["one", "other"], lines, WIDTH, HEIGHT)
    assert one is not None
    assert other is not None
    assert abs(one.y - other.y) >= 19


def test_what_is_no_line_and_what_has_no_room_is_left_to_the_legend() -> None:
    ends = [[(0.0, 0.0), (320.0, 10.0)]]
    assert place_labels(["runs", "x" * 80, ""], [[], ends, ends], WIDTH, HEIGHT) == [None] * 3
    assert place_labels(["a"] * 7, [ends] * 7, WIDTH, HEIGHT) == [None] * 7


@given(LINES)
def test_names_stay_inside_and_apart(lines: list[tuple[str, list[list[tuple[float, float]]]]]) -> None:
    names = [name for name, _ in lines]
    placed = zip(names, place_labels(names, [paths for _, paths in lines], WIDTH, HEIGHT), strict=True)
    boxes = [box(name, label) for name, label in placed if label is not None]
    assert all(left >= 0 and top >= 0 and right <= WIDTH and bottom <= HEIGHT for left, top, right, bottom in boxes)
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
