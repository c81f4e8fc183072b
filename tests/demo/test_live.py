from __future__ import annotations

import io
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
from rich.console import Console

from cosched.api.documents import PlacementView, PlanView, TaskPage
from cosched.simulation.kernels import draw_kernel_tasks
from demo.live import kernel_requests, run
from tests.demo.views import ran

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents import TaskRequest, TaskView


class TwoLooks:
    """A daemon whose tasks wait at the first look, run at the second and have ended at the third."""

    def __init__(self) -> None:
        self.asked = 0
        self.submitted: list[TaskRequest] = []

    def submit_all(self, requests: Sequence[TaskRequest]) -> list[TaskView]:
        self.submitted += requests
        return [ran(str(number), (), 0.0, 0.0) for number in range(1, len(requests) + 1)]

    def tasks(self, limit: int) -> TaskPage:
        self.asked += 1
        now = time.time()
        state = ("queued", "running", "completed")[min(self.asked, 3) - 1]
        started, finished = (now - 1, now) if state == "completed" else (None, None)
        tasks = tuple(
            replace(
                ran(str(number), ("h1",), 0.0, 1.0, state=state, application=request.application),
                started=started,
                finished=finished,
            )
            for number, request in enumerate(self.submitted, start=1)
        )
        return TaskPage(tasks=tasks[::-1], total=len(tasks), limit=limit, offset=0)

    def plan(self) -> PlanView:
        now = time.time()
        place = PlacementView(task="1", hosts=("h1",), start=now, end=now + 5, deadline=None, running=self.asked == 2)
        places = (place,) if self.asked < 3 else ()
        return PlanView(time=now, placements=places, makespan=5.0, bound=4.0, gap=0.25, evaluations=1234)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_run_is_followed_to_its_end(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("demo.live._EVERY", 0.001)
    monkeypatch.setattr("demo.live._SAY_EVERY", 0.0)
    client, out = TwoLooks(), io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120)
    orders = draw_kernel_tasks(3, 1)
    began, tasks = run(cast("Any", client), partial(kernel_requests, orders), console)
    assert [task.id for task in tasks] == ["1", "2", "3"]
    assert {task.state for task in tasks} == {"completed"}
    assert [request.application for request in client.submitted] == [order.kernel for order in orders]
    assert [request.deadline for request in client.submitted] == [began + order.relative_deadline for order in orders]
    if not terminal:
        assert "waiting  3  running  0  done  0" in out.getvalue()
        assert "gap to the lower bound 25.0%" in out.getvalue()
