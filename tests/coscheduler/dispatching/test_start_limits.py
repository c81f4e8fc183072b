from __future__ import annotations

import pytest

from cosched.connector.hosts import Host
from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.dispatching.start_limits import StartLimits
from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.state import CoreState
from tests.coscheduler.makers import a_task, settings


def limits(owner_hosts: int = 9) -> tuple[CoreState, SubmitLimits, StartLimits]:
    """Return the limits of a domain with four hosts, one licence, and so many hosts for each user."""
    state, submits = CoreState(licences={"matlab": 1}), SubmitLimits(settings())
    state.hosts.observe(tuple(Host(f"node0{number}") for number in range(1, 5)), 0.0)
    state.shares.tree = Shares(users={"ada": Share(hosts=owner_hosts)})
    return state, submits, StartLimits(state, submits)


@pytest.mark.parametrize(("hosts", "free"), [(1, True), (2, True), (3, False)])
def test_tasks_that_leave_together_count_for_their_users_hosts(hosts: int, free: bool) -> None:
    state, _, found = limits(owner_hosts=3)
    first, second = (a_task(number, owner="ada") for number in (1, 2))
    for task in (first, second):
        state.put(task)
    found.count_hosts()
    found.take(first, 1)
    assert found.admits(second, hosts, 0.0) is free
    assert found.waits("2", hosts, 0, 0.0) is not free


def test_a_task_that_needs_more_hosts_than_its_user_may_have_takes_all_of_them() -> None:
    """The limit was lowered after its host count was planned: it waits for as many as there may be."""
    state, _, found = limits(owner_hosts=2)
    task = a_task(1, owner="ada")
    state.put(task)
    found.count_hosts()
    assert not found.lacks_room(task, 4)
    found.take(task, 1)
    assert found.lacks_room(task, 4)


def test_what_holds_a_task_back_is_told_each_by_itself() -> None:
    state, submits, found = limits()
    state.put(a_task(1, owner="ada", licences={"matlab": 1}))
    assert not found.waits("1", 1, 0, 0.0)
    for task in (a_task(2, owner="bob", licences={"matlab": 1}), a_task(3, owner="bob")):
        state.put(task)
    state.put_attempt(Attempt("uuid", "2", ("node01",), 1, 10.0, created=0.0))
    assert found.waits("1", 1, 0, 0.0)  # the licence
    assert not found.waits("3", 1, 0, 0.0)
    state.put(a_task(4, owner="eve", after=("2",)))
    assert found.waits("4", 1, 0, 0.0)  # its predecessor
    submits.note_refusal("bob", 1, "enough", 0.0)
    assert found.waits("3", 1, 0, 0.0)  # the manager's limit of its owner
