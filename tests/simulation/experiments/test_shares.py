from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from cosched.simulation.experiments.shares import EXPERIMENT, _planned, _queued, _rule_rows, _Workload
from cosched.simulation.queue_rules import FairTreeRule, QueuedTask

if TYPE_CHECKING:
    from cosched.simulation.experiment import ResultRow

pytestmark = pytest.mark.xdist_group("experiment-shares")  # its tests share one run


@pytest.fixture(scope="module")
def rows() -> dict[tuple[object, object], ResultRow]:
    """The rows of twelve hours without a search, by rule and user."""
    options = EXPERIMENT.settings({"generations": "0", "hours": "12"})
    return {(row["rule"], row["user"]): row for row in EXPERIMENT.run(1, options)}


def figures(rows: dict[tuple[object, object], ResultRow], rule: str, column: str) -> dict[str, float | None]:
    found = {str(user): row[column] for (name, user), row in rows.items() if name == rule}
    return {user: None if value is None else float(value) for user, value in found.items()}


def test_delivered_shares_are_those_entitled_and_no_host_is_idle(rows: dict[tuple[object, object], ResultRow]) -> None:
    assert list(figures(rows, "shares", "ratio").values()) == pytest.approx([1.0] * 4, abs=0.05)
    assert rows["shares", "ada"]["used"] == pytest.approx(1.0, abs=0.01)
    assert (figures(rows, "deadlines-first", "ratio")["cyd"] or 0.0) < 0.5


def test_within_the_budget_deadlines_are_met_as_where_they_alone_count(
    rows: dict[tuple[object, object], ResultRow],
) -> None:
    mine, theirs = (figures(rows, rule, "on_time") for rule in ("shares", "deadlines-first"))
    for user in ("ada", "cyd"):
        assert (mine[user] or 0.0) >= (theirs[user] or 0.0) > 0


def test_deadlines_that_cannot_be_met_gain_nothing(rows: dict[tuple[object, object], ResultRow]) -> None:
    pretended = figures(rows, "shares", "delivered")
    assert pretended == figures(rows, "shares, eve without deadlines", "delivered")
    others = figures(rows, "deadlines-first", "delivered")
    assert (pretended["eve"] or 0.0) < (others["eve"] or 0.0)


def test_tasks_that_never_began_are_told_too() -> None:
    workload = _Workload(4, 0.5, 1)
    for tasks in (_planned(workload, None, 0), _queued(workload, FairTreeRule(workload.budgeted))):
        assert len(tasks) >= 2 * 4 * 4  # of four users, two for each host
        assert 0 < sum(task.started == math.inf for task in tasks) < len(tasks)


def test_a_task_that_never_began_is_not_on_time_and_has_taken_nothing() -> None:
    tasks = [QueuedTask("eve", 2, 60.0, 0.0, 50.0, 0.0, 40.0), QueuedTask("eve", 0, 0.0, 0.0, 50.0)]
    row = next(row for row in _rule_rows("some", tasks, _Workload(8, 1.0, 1)) if row["user"] == "eve")
    assert (row["deadlines"], row["on_time"], row["delivered"]) == (2, 0.5, 1.0)


@pytest.mark.parametrize("rule", ["Slurm's fair tree", "HTCondor's effective priority"])
def test_the_managers_rules_deliver_shares_too_and_know_no_deadlines(
    rows: dict[tuple[object, object], ResultRow], rule: str
) -> None:
    assert list(figures(rows, rule, "ratio").values()) == pytest.approx([1.0] * 4, abs=0.25)
    assert (figures(rows, rule, "on_time")["ada"] or 0.0) < 1.0
