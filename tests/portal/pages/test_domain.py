from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.access.principal import Role
from cosched.portal.documents import Placement, PlanView, RunView
from cosched.portal.pages.domain import busy_shares
from tests.portal.pages.makers import host, portal

if TYPE_CHECKING:
    from pathlib import Path


def test_a_host_is_busy_while_tasks_are_on_it() -> None:
    run = RunView(task="1", name="", application="", hosts=("a", "gone"), start=-50.0, end=20.0, deadline=None,
                  state="completed")  # fmt: skip
    running = Placement(task="2", hosts=("a", "b"), start=60.0, end=500.0, deadline=None, running=True)
    planned = Placement(task="3", hosts=("c",), start=10.0, end=90.0, deadline=None, running=False)
    plan = PlanView(time=100.0, placements=(running, planned), makespan=0.0, bound=None, gap=None, evaluations=0)
    assert busy_shares([host("a"), host("b"), host("c")], [run], plan, (0.0, 100.0)) == {"a": 0.6, "b": 0.4, "c": 0.0}


def test_the_log_tells_nobody_of_other_users_tasks(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        here.person("ann").submit(name="secret plan")
        assert "secret plan" not in here.person("bob").see("/domain")
        assert "hosts observed" in here.person("bob").see("/domain")
        assert "secret plan" in here.person("olga", Role.OPERATOR).see("/domain")
