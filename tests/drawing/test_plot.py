from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.one_of(st.floats(), st.floats(0.001, 1000), st.integers(-5, 5).map(float))
COLUMNS = st.integers(0, 8).flatmap(
    lambda size: st.tuples(*[st.lists(VALUES, min_size=size, max_size=size) for _ in range(4)])
)
NUMBERS = st.sampled_from([AxisKind.LINEAR, AxisKind.LOGARITHMIC, AxisKind.COUNT])
LINES = st.builds(lambda name, columns: Line(name, *columns), st.text(max_size=10), COLUMNS)


def elements(svg: str, tag: str, name: str) -> list[ET.Element]:
    return [item for item in ET.fromstring(svg).iter(f"{SVG}{tag}") if name in item.attrib.get("class", "").split()]


def points(item: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in item.attrib["points"].split())]


def texts(svg: str) -> list[str]:
    return [item.text or "" for item in ET.fromstring(svg).iter() if item.tag in (f"{SVG}text", f"{SVG}title")]


def test_a_line_goes_from_edge_to_edge_and_stands_on_zero() -> None:
    svg = line_plot([Line("fft", [1, 2, 3], [40.0, 20.0, 10.0])], "Scaling", "hosts", "seconds")
    (line,) = elements(svg, "polyline", "line")
    # 640 x 360 units; 40 s is the top and 0 the bottom.
    assert points(line) == [(0, 0), (320, 180), (640, 270)]
    assert {"Scaling", "hosts", "seconds", "fft", "fft, 2: 20"} <= set(texts(svg))


def test_a_band_encloses_its_line() -> None:
    svg = line_plot([Line("fft", [1, 2], [10.0, 8.0], [9.0, 6.0], [20.0, 10.0])], "", "", "")
    (band,) = elements(svg, "polygon", "band")
    assert points(band) == [(0, 0), (640, 180), (640, 252), (0, 198)]
    assert "fft, 1: 10 (9 to 20)" in texts(svg)


def test_what_has_no_value_leaves_a_gap() -> None:
    svg = line_plot([Line("a", [1, 2, 3, 4], [1.0, math.inf, 3.0, 4.0])], "", "", "")
    assert [len(points(line)) for line in elements(svg, "polyline", "line")] == [1, 2]
    assert len(elements(svg, "circle", "mark")) == 3


def logarithmic(line: Line) -> str:
    return line_plot([line], "", "", "", across=AxisKind.LOGARITHMIC, upwards=AxisKind.LOGARITHMIC)


def test_logarithmic_axes_make_powers_straight() -> None:
    svg = logarithmic(Line("a", [1, 10, 100], [100.0, 10.0, 1.0]))
    (line,) = elements(svg, "polyline", "line")
    assert points(line) == [(0, 0), (320, 180), (640, 360)]
    assert {"1", "10", "100"} <= set(texts(svg))
    assert logarithmic(Line("a", [0, 1], [-1.0, 1.0])).count("<circle") == 1


def test_points_that_are_not_joined_stand_for_themselves() -> None:
    svg = line_plot([Line("runs", [3, 1, 2], [1.0, 2.0, 3.0], joined=False)], "", "", "")
    assert not elements(svg, "polyline", "line")
    assert len(elements(svg, "circle", "mark")) == 3


def test_many_lines_are_told_apart() -> None:
    svg = line_plot([Line(str(number), [1, 2], [1.0, 2.0]) for number in range(12)], "", "", "")
    legend = [item.attrib["class"] for item in elements(svg, "line", "line")]
    assert len(set(legend)) == 12


def test_lines_are_named_at_their_ends_and_points_in_the_legend() -> None:
    lines = [Line("fft", [1, 2], [2.0, 1.0]), Line("runs", [1, 2], [2.0, 1.0], joined=False)]
    svg = line_plot(lines, "", "hosts", "seconds")
    (label,) = elements(svg, "text", "label")
    assert (label.text, label.attrib["class"]) == ("fft", "label fill-1")
    assert texts(svg).count("runs") == 1
    assert texts(svg).count("fft") == 1


def test_a_page_may_bring_its_own_style() -> None:
    line = Line("a", [1], [1.0])
    assert "<style>" not in line_plot([line], "", "", "", styled=False)
    assert "prefers-color-scheme: dark" in line_plot([line], "", "", "")


def test_columns_that_differ_in_length_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        line_plot([Line("a", [1, 2], [1.0])], "", "", "")


@given(st.lists(LINES, max_size=8), st.text(max_size=20), NUMBERS, NUMBERS)
def test_whatever_is_drawn_is_well_formed_and_the_same_again(
    lines: list[Line], title: str, across: AxisKind, upwards: AxisKind
) -> None:
    svg = line_plot(lines, title, title, title, across=across, upwards=upwards)
    root = ET.fromstring(svg)
    assert svg == line_plot(lines, title, title, title, across=across, upwards=upwards)
    drawn = [pair for item in root.iter(f"{SVG}polyline") for pair in points(item)]
    assert all(-1 <= x <= 641 and -1 <= y <= 361 for x, y in drawn)


def test_nothing_breaks_out_of_its_place() -> None:
    bad = '</text><script>alert(1)</script>"&'
    svg = line_plot([Line(bad, [1], [1.0])], bad, bad, bad)
    assert "<script" not in svg
    assert texts(svg).count(bad) == 5
