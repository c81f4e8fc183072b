from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import CancelRequested, EditRequested
from cosched.coscheduler.sharing.shares import Share, Shares
from tests.coscheduler.makers import (
    a_core,
    a_task,
    shared,
    submit,
)

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler

LONG = 1e9  # a half-life by which nothing decays


def deadlines(core: Coscheduler, *hours: float, time: float = 0.0) -> list[float | None]:
    """Have ada submit tasks of so many hours on one host with a far deadline; return their claims in hours."""
    claims = []
    for each in hours:
        number = core.next_number
        submit(core, a_task(number, [each * 3600.0], owner="ada", submitted=time, deadline=time + 1e6), time)
        claim = core.tasks[str(number)].status.claim
        claims.append(None if claim is None else claim / 3600)
    return claims


def test_deadlines_claim_a_budget_and_what_is_beyond_is_planned_as_if_it_had_none() -> None:
    core = shared(a_core(1), Shares(half_life=LONG, window=86_400.0, users={"ada": Share(budget=5.0)}))
    assert deadlines(core, 3.0, 3.0, 2.0) == [3.0, 0.0, 2.0]
    assert [core.tasks[name].due is None for name in ("1", "2", "3")] == [False, True, False]
    assert deadlines(core, 4.0, time=86_400.0) == [4.0]  # in the next window
    assert deadlines(shared(a_core(1)), 1e2) == [1e2]  # no budget, no bound
    assert deadlines(a_core(1), 1.0) == [None]


def test_a_group_has_a_budget_of_its_own() -> None:
    shares = Shares(groups={"physics": Share(budget=5.0)}, members={"ada": "physics", "bob": "physics"})
    core = shared(a_core(1), shares)
    assert deadlines(core, 3.0) == [3.0]
    submit(core, a_task(2, [3 * 3600.0], owner="bob", deadline=1e6))
    assert core.tasks["2"].status.claim == 0.0


def test_a_claim_is_given_back_with_a_task_that_never_began_or_lost_its_deadline() -> None:
    core = shared(a_core(0), Shares(half_life=LONG, users={"ada": Share(budget=5.0)}))
    assert deadlines(core, 3.0, 2.0) == [3.0, 2.0]
    core.handle(CancelRequested(1.0, "1"))
    core.handle(EditRequested(1.0, "2", TaskEdit(without_deadline=True), "ada"))
    assert core.tasks["2"].status.claim is None
    assert deadlines(core, 5.0) == [5.0]


def test_a_deadline_that_is_moved_again_in_a_later_window_claims_once_there() -> None:
    core = shared(a_core(0), Shares(half_life=LONG, window=86_400.0, users={"ada": Share(budget=5.0)}))
    assert deadlines(core, 3.0) == [3.0]
    for time, deadline in ((86_500.0, 9e5), (86_600.0, 8e5)):
        core.handle(EditRequested(time, "1", TaskEdit(deadline=deadline), "ada"))
        assert core.tasks["1"].status.claim == 3 * 3600.0
    core.handle(CancelRequested(86_700.0, "1"))
    assert deadlines(core, 5.0, time=86_800.0) == [5.0]
