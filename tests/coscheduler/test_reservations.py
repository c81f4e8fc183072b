from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.reservations import Reservation, Reservations, with_reservations, without_distant_reservations
from cosched.scheduling.decoding.decoder import decode
from tests.scheduling.problems import a_plan, a_problem

HOSTS = ("a", "b", "c")


def reserved(*each: tuple[str, float, float]) -> Reservations:
    known = Reservations()
    for number, (hosts, begin, end) in enumerate(each):
        known.put(Reservation(f"r{number}", tuple(hosts), begin, end))
    return known


def drawn() -> st.SearchStrategy[list[tuple[str, float, float]]]:
    times = st.integers(0, 20).map(float)
    return st.lists(st.tuples(st.sampled_from(["a", "ab", "bc"]), times, times).filter(lambda each: each[1] < each[2]))


@given(drawn(), st.integers(0, 20).map(float))
def test_a_host_is_kept_until_there_is_a_moment_without_reservation(
    each: list[tuple[str, float, float]], now: float
) -> None:
    known, kept = reserved(*each), reserved(*each).kept(now)
    needed = known.needed(now)
    for host in HOSTS:
        mine = [(begin, end) for hosts, begin, end in each if host in hosts]
        moment = now
        while any(begin <= moment < end for begin, end in mine):
            moment += 1.0
        assert kept.get(host, now) == moment
        later = [max(begin - now, 0.0) for begin, end in mine if end > now]
        assert needed.get(host) == min(later, default=None)


def test_what_is_over_is_forgotten() -> None:
    known = reserved(("a", 0.0, 5.0), ("b", 0.0, 9.0))
    assert [each.id for each in known.live(5.0)] == ["r1"]
    assert "r0" in known  # to be asked changes nothing
    known.forget(5.0)
    assert "r0" not in known
    assert replace(known.live(5.0)[0], released=6.0).over(5.0)


def test_those_of_hosts_that_are_not_up_are_no_absences() -> None:
    assert reserved(("ab", 3.0, 5.0)).unavailability(["b", "c"], 1.0) == [(0, 2.0, 4.0)]


def test_the_reservations_on_some_hosts_between_two_times() -> None:
    known = reserved(("a", 2.0, 4.0), ("b", 2.0, 4.0), ("a", 6.0, 9.0))
    assert [each.id for each in known.on(["a"], 0.0, 6.0, 0.0)] == ["r0"]
    assert [each.title for each in known.on(["a", "b"], 3.0, 7.0, 0.0)] == ["r0", "r1", "r2"]


def test_a_problem_without_reservations_is_the_same() -> None:
    problem = a_problem([[5.0]], hosts=1)
    assert with_reservations(problem, Reservations(), 0.0) is problem
    assert without_distant_reservations(problem, a_plan([0], [1])) is problem


def test_what_begins_when_all_plans_have_ended_is_left_out() -> None:
    problem = replace(a_problem([[5.0], [5.0]], hosts=1), hosts=("a",))
    late, early = (with_reservations(problem, reserved(("a", begin, 30.0)), 0.0) for begin in (10.0, 9.0))
    plan = a_plan([0, 1], [1, 1])
    assert without_distant_reservations(late, plan, plan).unavailability == ()
    assert without_distant_reservations(early, plan) is early
    assert decode(without_distant_reservations(early, plan), plan).makespan == 35.0


def test_one_in_force_puts_off_when_its_host_is_free() -> None:
    problem = replace(a_problem([[5.0]], hosts=2, free=[0.0, 7.0]), hosts=("a", "b"))
    found = with_reservations(problem, reserved(("ab", 0.0, 6.0), ("b", 7.0, 8.0)), 1.0)
    assert found.free.tolist() == [5.0, 7.0]
    assert np.all(np.diff([period.begin for period in found.unavailability]) > 0)
