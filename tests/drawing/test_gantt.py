from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.drawing.gantt import GanttBar, gantt

HOSTS = ("h0", "h1", "h2", "h3")
SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg: str) -> list[ET.Element]:
    """Return the rectangles of tasks, without frame, background and legend."""
    found = []
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        if group.find(f"{SVG}title") is not None:
            found += group.findall(f"{SVG}rect")
    return found


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if element.tag in (f"{SVG}text", f"{SVG}title")]


def test_a_task_is_a_box_over_its_hosts_and_its_time() -> None:
    svg = gantt([GanttBar("a", "fft", ("h0", "h1"), 0, 10), GanttBar("b", "cpi", ("h3",), 5, 10)], HOSTS, "Queue")
    wide, narrow = boxes(svg)
    assert float(wide.attrib["height"]) == 2 * float(narrow.attrib["height"])
    assert float(wide.attrib["width"]) == 2 * float(narrow.attrib["width"])
    assert float(narrow.attrib["y"]) == 0
    assert float(wide.attrib["y"]) == 2 * float(narrow.attrib["height"])
    assert float(narrow.attrib["x"]) == float(narrow.attrib["width"])
    assert wide.attrib["fill"] != narrow.attrib["fill"]
    assert {"Queue", "a", "b", "fft", "cpi", "hosts", "time (s)", *HOSTS} <= set(texts(svg))


def test_hosts_that_are_not_neighbours_are_boxes_apart_with_one_label() -> None:
    svg = gantt([GanttBar("task", "fft", ("h0", "h2", "h3"), 0, 10)], HOSTS, "Queue")
    assert len(boxes(svg)) == 2
    assert texts(svg).count("task") == 1


def test_missed_deadlines_are_marked_and_counted() -> None:
    bars = [GanttBar("late", "fft", ("h0",), 0, 10, 8.0), GanttBar("early", "fft", ("h1",), 0, 10, 10.0)]
    svg = gantt(bars, HOSTS, "Queue")
    assert [box.attrib["class"] for box in boxes(svg)] == ["box", "box late"]
    assert "deadline missed (1)" in texts(svg)
    assert "late: 1 host, 0 to 10 s, deadline missed by 2 s" in texts(svg)
    assert "deadline missed" not in gantt(bars[1:], HOSTS, "Queue")


def test_a_label_that_does_not_fit_is_left_out() -> None:
    bars = [GanttBar("a rather long name", "fft", ("h0",), 0, 1), GanttBar("b", "fft", ("h1",), 0, 1000)]
    assert "a rather long name" not in texts(gantt(bars, HOSTS, "Queue"))


@pytest.mark.parametrize(("end", "unit"), [(500, "s"), (5000, "min"), (50_000, "h"), (500_000, "days")])
def test_the_time_axis_has_a_unit_that_suits(end: float, unit: str) -> None:
    assert f"time ({unit})" in texts(gantt([GanttBar("a", "fft", ("h0",), 0, end)], HOSTS, "Queue"))


def test_times_may_be_on_any_scale_and_the_origin_moves_the_edge() -> None:
    bar = GanttBar("a", "fft", ("h0",), 1_700_000_010.0, 1_700_000_020.0)
    [at_edge], [moved] = boxes(gantt([bar], HOSTS, "")), boxes(gantt([bar], HOSTS, "", origin=1_700_000_000.0))
    assert float(at_edge.attrib["x"]) == 0
    assert float(moved.attrib["x"]) == float(moved.attrib["width"]) == float(at_edge.attrib["width"]) / 2


def test_no_bars_and_many_hosts_are_drawn_too() -> None:
    assert boxes(gantt([], HOSTS, "Nothing")) == []
    many = [f"host{number}" for number in range(400)]
    assert sum(text.startswith("host") for text in texts(gantt([GanttBar("a", "b", (many[7],), 0, 1)], many, ""))) < 120


@given(st.text(max_size=12), st.text(max_size=12))
def test_no_name_breaks_the_picture(task: str, title: str) -> None:
    svg = gantt([GanttBar(task, task, ("h0",), 0, 10, 5.0)], HOSTS, title)
    assert len(boxes(svg)) == 1
    assert svg.encode()


def test_markup_in_a_name_is_text() -> None:
    svg = gantt([GanttBar("<script>&{{7*7}}", "x", ("h0",), 0, 10)], HOSTS, '"><script>')
    assert "<script" not in svg
    assert "<script>&{{7*7}}" in texts(svg)


def test_hosts_that_are_not_there_are_no_task() -> None:
    svg = gantt(
        [GanttBar("a", "fft", ("h0",), 0, 10), GanttBar("gone", "gone", ("h1",), 2, 5, absent=True)], HOSTS, "Queue"
    )
    assert any(text.startswith("1 task on 4 hosts") for text in ET.fromstring(svg).itertext())
    assert [box.attrib["fill"] for box in boxes(svg)][1] == "#e4e4e4"
    assert "gone" in texts(svg)


def test_the_frame_of_a_missed_deadline_is_red() -> None:
    """The rule for every box stood behind that for late ones, with the same weight, and undid it."""
    style = next(ET.fromstring(gantt([], HOSTS, "")).iter(f"{SVG}style")).text or ""
    assert style.index(".gantt .box {") < style.index(".gantt .late {")
    assert style.index(".gantt .small {") < style.index(".gantt .late {")


@pytest.mark.parametrize("applications", [1, 7, 36, 70, 71, 2000])
def test_a_legend_of_many_applications_stays_within_the_picture(applications: int) -> None:
    bars = [
        GanttBar(f"task {number}", f"kind {number}", ("h0",), number, number + 1, 0.5) for number in range(applications)
    ]
    root = ET.fromstring(gantt(bars, HOSTS, ""))
    height = float(root.attrib["viewBox"].split()[3])
    entries = [
        group for group in root.iter(f"{SVG}g") if len(group.findall(f"{SVG}text")) and "transform" in group.attrib
    ]
    places = [float(group.attrib["transform"].split()[-1].rstrip(")")) for group in entries]
    assert max(places) + 36 + 11 <= height
    named = sum((text or "").startswith("kind") for text in texts(gantt(bars, HOSTS, "")))
    assert (
        named == applications
        if applications <= 70
        else f"… and {applications - named} more" in texts(gantt(bars, HOSTS, ""))
    )


def test_frames_do_not_hide_the_boxes_of_a_large_schedule() -> None:
    bars = [GanttBar(str(number), "fft", ("h0",), number, number + 1) for number in range(1000)]
    assert {box.attrib["class"] for box in boxes(gantt(bars, HOSTS, ""))} == {"box small"}
