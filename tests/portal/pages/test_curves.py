from __future__ import annotations

import re

from cosched.api.documents import ProfileView
from cosched.portal.pages.curves import run_time_curve


def _view(hardware: str, *seconds: float | None, classes: tuple[ProfileView, ...] = ()) -> ProfileView:
    return ProfileView(seconds=seconds, source="model", hardware=hardware, classes=classes)


def _marks(picture: str) -> list[str]:
    return re.findall(r"<title>(.*?)</title>", picture)[1:]


def test_hosts_are_whole_and_times_are_durations() -> None:
    picture = run_time_curve(_view("x", 3600.0, 1800.0))
    assert _marks(picture) == ["predicted, 1: 1 h", "predicted, 2: 30 min"]
    assert ">1.5<" not in picture  # no tick between two counts of hosts


def test_what_is_planned_lies_on_the_curve_of_its_class() -> None:
    slow, fast = _view("slow", 250.0, 130.0), _view("fast", 154.0, 80.0)
    picture = run_time_curve(_view("fast", 154.0, 80.0, classes=(slow, fast)), 2)
    assert _marks(picture) == [
        "on fast, 1: 2 min 34 s",
        "on fast, 2: 1 min 20 s",
        "planned: 2 hosts, 2: 1 min 20 s",
        "on slow, 1: 4 min 10 s",
        "on slow, 2: 2 min 10 s",
    ]


def test_hosts_of_all_classes_have_no_curve_of_their_own() -> None:
    slow, fast = _view("slow", 250.0), _view("fast", 154.0)
    assert _marks(run_time_curve(_view("slow+fast", 250.0, classes=(slow, fast)))) == ["on slow+fast, 1: 4 min 10 s"]


def test_a_wide_range_leaves_the_curve_visible() -> None:
    view = ProfileView(seconds=(60.0, 30.0), source="model", hardware="x", low=(5.0, 3.0), high=(700.0, 400.0))
    assert "run time, s" in run_time_curve(view)
    assert _marks(run_time_curve(view))[0] == "predicted, 1: 60 (5 to 700)"
