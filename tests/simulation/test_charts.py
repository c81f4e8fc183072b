from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from cosched.simulation.experiment import line_chart

if TYPE_CHECKING:
    from cosched.simulation.experiment import ResultRow


def test_a_line_for_each_value_and_a_band_where_there_are_intervals() -> None:
    rows: list[ResultRow] = [
        {"size": size, "policy": policy, "makespan": float(size * 2), "makespan_ci95": 0.5}
        for size in (1, 2, 3)
        for policy in ("edf", "easy")
    ]
    text = line_chart(rows, "size", "makespan", "policy", "a title", ("size", "makespan (s)"))
    words = " ".join("".join(ET.fromstring(text).itertext()).split())
    assert "edf" in words
    assert "easy, 3: 6 (5.5 to 6.5)" in words


def test_a_missing_value_leaves_a_gap() -> None:
    rows: list[ResultRow] = [{"size": 1, "by": "a", "y": None}, {"size": 2, "by": "a", "y": 4.0}]
    text = line_chart(rows, "size", "y", "by", "t", ("x", "y"))
    assert "a, 2: 4" in text
    assert "a, 1:" not in text


def test_what_is_published_is_dashed() -> None:
    rows: list[ResultRow] = [{"size": size, "by": by, "y": 1.0} for by in ("ON", "ON, paper") for size in (1, 2)]
    for given, dashed in (("", 0), ("paper", 2)):  # the line and its place in the legend
        assert line_chart(rows, "size", "y", "by", "t", ("x", "y"), given).count(" dashed") == dashed
