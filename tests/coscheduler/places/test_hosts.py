from __future__ import annotations

from dataclasses import replace

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.places.hosts import DomainHosts, expected_end
from tests.coscheduler.makers import hosts

ATTEMPT = Attempt(uuid="u", task="1", hosts=("node01",), count=1, predicted=10.0, created=0.0)


def test_an_attempt_that_has_not_started_is_expected_to_take_its_whole_time_from_now() -> None:
    assert expected_end(ATTEMPT, 3.0) == 13.0


def test_an_attempt_that_runs_is_expected_to_end_as_predicted() -> None:
    assert expected_end(replace(ATTEMPT, started=0.0), 3.0) == 10.0


def test_a_host_whose_clock_is_behind_does_not_make_its_job_late() -> None:
    attempt = replace(ATTEMPT, created=3600.0, started=5.0)
    assert expected_end(attempt, 3602.0) == 3610.0


def test_the_later_an_attempt_is_the_longer_it_is_expected_to_go_on() -> None:
    late = replace(ATTEMPT, started=0.0)
    remaining = [expected_end(late, now) - now for now in (10.125, 11.0, 20.0, 100.0)]
    assert remaining == [0.5, 0.5, 5.0, 45.0]


def test_an_attempt_whose_end_is_due_now_is_not_late() -> None:
    assert expected_end(replace(ATTEMPT, started=0.0), 10.0) == 10.0


def test_observing_the_same_hosts_again_is_no_change() -> None:
    domain = DomainHosts()
    assert domain.observe(hosts(2), 0.0)
    assert not domain.observe(hosts(2), 0.0)
    assert domain.observe(hosts(2, down=[2]), 0.0)
    assert domain.up() == ["node01"]


def test_a_held_attempt_takes_no_host() -> None:
    assert DomainHosts().occupied([replace(ATTEMPT, state=AttemptState.HELD)], 0.0) == {}
    assert DomainHosts().occupied([replace(ATTEMPT, state=AttemptState.CANCELLING)], 0.0) == {"node01": 10.0}


def test_what_others_have_is_not_ours_and_is_expected_back_as_late_as_it_has_lasted() -> None:
    domain = DomainHosts()
    mine, theirs = hosts(2)
    domain.observe((mine, replace(theirs, claimed=True)), 100.0)
    assert domain.up() == ["node01", "node02"]
    assert domain.mine() == ["node01"]
    assert domain.claims(100.0) == {"node02": 110.0}
    domain.observe((mine, replace(theirs, claimed=True)), 150.0)
    assert domain.claims(160.0) == {"node02": 220.0}
    domain.observe((mine, replace(theirs, claimed=True, free_at=500.0)), 170.0)
    assert domain.claims(180.0) == {"node02": 500.0}
    domain.observe((mine, theirs), 190.0)
    assert domain.claims(190.0) == {}
    assert domain.mine() == ["node01", "node02"]
