from __future__ import annotations

from datetime import UTC
from typing import Any
from xml.etree import ElementTree

from cosched.api.documents import WorkersView, WorkerView
from cosched.portal.pages.figures.widths import _steps, width_chart

NOW = 1_750_000_000.0


def worker(number: int, since: float | None, finished: float | None, *, promised: bool) -> WorkerView:
    return WorkerView(
        worker=number,
        host=f"h{number}",
        state="running",
        promised=promised,
        since=since,
        finished=finished,
        leave_by=None,
        job="1",
        reason="",
    )


def view(*workers: WorkerView) -> WorkersView:
    values: dict[str, Any] = {"promised_end": NOW + 60, "expected_end": NOW + 40}
    return WorkersView(
        task="1", state="running", host="h0", lead="", drains=False, promised=("h1",), workers=workers, **values
    )


def words(found: WorkersView, finished: float | None = None) -> list[str]:
    chart = width_chart(found, NOW, finished, NOW + 30, UTC)
    assert chart is not None
    return [text for each in ElementTree.fromstring(chart).iter() if (text := (each.text or "").strip())]


def test_steps_go_up_and_down_where_hosts_come_and_go() -> None:
    line = _steps("all", [(0.0, 30.0), (5.0, 30.0), (10.0, 20.0)], 30.0)
    points = list(zip(line.x, line.y, strict=True))
    assert points[-1] == (30.0, 2.0)  # the end of all is no step down
    assert {(5.0, 1.0), (5.0, 2.0), (10.0, 3.0), (20.0, 3.0), (20.0, 2.0)} <= set(points)
    assert list(line.x) == sorted(line.x)


def test_lent_hosts_are_a_line_of_their_own() -> None:
    promised, lent = worker(1, NOW, None, promised=True), worker(2, NOW + 10, NOW + 20, promised=False)
    assert "with lent hosts" in words(view(promised, lent))
    assert "with lent hosts" not in words(view(promised, worker(3, None, None, promised=False)))
    assert "promised hosts" in words(view(promised), NOW + 25)


def test_a_task_that_has_not_begun_has_no_chart() -> None:
    assert width_chart(view(), None, None, NOW, UTC) is None
    assert width_chart(view(), NOW + 40, None, NOW, UTC) is not None  # a clock that is behind
