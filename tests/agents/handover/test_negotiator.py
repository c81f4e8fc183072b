"""Finding a better place, a letter at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letters import (
    Advertisement,
    Commit,
    Decline,
    Fenced,
    Offer,
    Refused,
    Request,
    Reserve,
    Reserved,
)
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import EditRequested, HoldRequested
from tests.agents.makers import DOCUMENT, NOW, UUID, Domain, a_domain, a_guest, a_service, a_task, a_wide_task
from tests.tasks import change_task

if TYPE_CHECKING:
    from cosched.agents.protocol.letters import Body
    from cosched.coscheduler.task import Task


def offered() -> tuple[Domain, str]:
    """Return a domain that has just asked b for task 1, and the task's UUID."""
    domain = a_domain()
    (request,) = domain.submit(a_wide_task())
    assert isinstance(request, Request)
    assert domain.started == []  # it stays while it is offered around
    return domain, request.task


def requests(domain: Domain, seconds: float) -> int:
    """Return how often somebody is asked within so many seconds."""
    return sum(isinstance(body, Request) for _ in range(int(seconds)) for body in domain.pass_time(1.0))


def test_what_nobody_takes_runs_here() -> None:
    domain, uuid = offered()
    domain.say(Decline(uuid, 1, "not mine"))
    assert domain.started == ["1"]


def test_no_answer_is_waited_for_but_for_a_while() -> None:
    domain, _ = offered()
    domain.pass_time(1.0)
    assert domain.started == []
    domain.pass_time(2.0)
    assert domain.started == ["1"]


def test_an_offer_that_is_no_better_is_none() -> None:
    domain, uuid = offered()
    domain.say(Offer(uuid, 1, 39.5, "b"))
    assert domain.started == ["1"]


def test_a_place_that_has_got_worse_is_given_up() -> None:
    domain, uuid = offered()
    assert domain.say(Offer(uuid, 1, 5.0, "b")) == [Reserve(uuid, 1)]
    assert Fenced(uuid, 1) in domain.say(Reserved(uuid, 1, 60.0, 10.0))
    assert domain.started == ["1"]


def test_late_answers_about_a_task_before_its_edit_count_for_nothing() -> None:
    domain, uuid = offered()
    assert domain.say(Offer(uuid, 1, 5.0, "b")) == [Reserve(uuid, 1)]
    edit = TaskEdit(deadline=domain.time + 20.0)
    (request,) = domain.happen(EditRequested(domain.time, "1", edit, "ann"))
    assert isinstance(request, Request)
    assert (request.epoch, request.document.deadline) == (2, 20.0)
    assert not domain.say(Reserved(uuid, 1, 5.0, 10.0))
    assert domain.state("1") == "queued"


def test_a_task_that_is_held_while_it_is_offered_stays() -> None:
    domain, uuid = offered()
    assert domain.say(Offer(uuid, 1, 5.0, "b")) == [Reserve(uuid, 1)]
    domain.happen(HoldRequested(domain.time, "1", "ann"))
    assert not domain.say(Reserved(uuid, 1, 5.0, 10.0))
    domain.pass_time(9.0)
    assert (domain.state("1"), domain.started) == ("queued", [])


def test_a_refused_place_is_no_place() -> None:
    domain, uuid = offered()
    domain.say(Offer(uuid, 1, 5.0, "b"))
    domain.say(Refused(uuid, 1, "gone"))
    assert domain.started == ["1"]


def test_words_about_another_hand_over_are_not_heard() -> None:
    domain, uuid = offered()
    assert domain.say(Offer(uuid, 2, 5.0, "b")) == []
    assert domain.say(Reserved(uuid, 1, 5.0, 10.0)) == []
    assert isinstance(domain.say(Offer(uuid, 1, 5.0, "b"))[0], Reserve)
    assert isinstance(domain.say(Reserved(uuid, 1, 5.0, 10.0))[0], Commit)


def test_who_was_asked_in_vain_is_asked_again_less_and_less_often() -> None:
    domain = a_domain()
    domain.submit(a_task(1, None, 1e4))  # takes the only host
    domain.submit(a_wide_task(2))
    assert 3 <= requests(domain, 120.0) <= 6
    agent = domain.broker.agent
    assert agent is not None
    assert agent.failed_negotiation("1") is None
    found = agent.failed_negotiation("2")
    assert found is not None
    assert found.tries >= 3


def test_why_nobody_has_a_task_is_remembered() -> None:
    def answers(*said: Body) -> tuple[str, ...]:
        domain = a_domain()
        domain.submit(a_task(1, None, 1e4))  # takes the only host
        domain.submit(a_wide_task(2))
        (request,) = [body for body in domain.pass_time(1.0) if isinstance(body, Request)]
        for body in said:
            domain.say(replace(body, task=request.task))  # type: ignore[arg-type]  # all that is said is of a task
        agent = domain.broker.agent
        assert agent is not None
        found = agent.failed_negotiation("2")
        return () if found is None else found.answers

    assert answers() == ()  # it is still being waited for
    assert answers(Decline(UUID, 1, "not mine" * 100)) == (f"b: {('not mine' * 100)[:200]}",)
    assert answers(Offer(UUID, 1, 2e4, "b")) == ("b: would end it 5 h 33 min late",)
    assert answers(Offer(UUID, 1, 5.0, "b"), Refused(UUID, 1, "it is gone")) == ("b: it is gone",)
    late = Reserved(UUID, 1, 2e4, 10.0)
    assert answers(Offer(UUID, 1, 5.0, "b"), late) == ("b: by now it would end too late there",)


def test_a_task_that_waits_anyway_waits_for_a_slow_neighbour() -> None:
    domain = a_domain()
    domain.submit(a_task(1, None, 30.0))  # takes the only host
    domain.submit(a_wide_task(2))
    (request,) = [body for body in domain.pass_time(1.0) if isinstance(body, Request)]
    domain.pass_time(5.0)
    assert domain.say(Offer(request.task, 1, 5.0, "b")) == [Reserve(request.task, 1)]
    domain.pass_time(5.0)
    assert isinstance(domain.say(Reserved(request.task, 1, 5.0, 10.0))[0], Commit)


def test_no_neighbour_is_waited_for_without_end() -> None:
    domain = a_domain()
    domain.submit(a_task(1, None, 30.0))
    domain.submit(a_wide_task(2))
    (request,) = [body for body in domain.pass_time(1.0) if isinstance(body, Request)]
    domain.pass_time(9.0)
    assert domain.say(Offer(request.task, 1, 5.0, "b")) == []


def declined(allowance: float) -> list[float]:
    """Return at which second a task that is late anyway is offered; nobody wants it."""
    domain = a_domain()
    domain.submit(a_task(1, None, 1e4))  # takes the only host
    domain.submit(change_task(a_wide_task(2), deadline=NOW + allowance))
    times = []
    for second in range(1, 21):
        for body in domain.pass_time(1.0):
            if isinstance(body, Request):
                times.append(float(second))
                domain.say(Decline(body.task, body.epoch, "not now"))
    return times


def test_the_nearer_its_deadline_the_sooner_a_task_is_offered_again() -> None:
    usual = declined(0.5)  # that is over before anybody could be asked
    assert usual == declined(1e3)
    soon = declined(8.0)
    pauses = [second - first for first, second in pairwise(soon) if second < 8.0]
    assert len([time for time in soon if time < 8.0]) > len([time for time in usual if time < 8.0])
    assert pauses == sorted(pauses, reverse=True)
    assert min(pauses) >= 1.0


def test_what_will_be_in_time_here_stays() -> None:
    domain = a_domain()
    domain.submit(a_task(1, NOW + 90.0, 40.0, 20.0, 10.0, 5.0))
    assert domain.started == ["1"]


def test_where_it_is_wanted_what_ends_much_sooner_elsewhere_is_offered_too() -> None:
    domain = a_domain(sooner=0.5)
    (request,) = domain.submit(a_task(1, NOW + 90.0, 40.0, 20.0, 10.0, 5.0))
    assert isinstance(request, Request)
    assert domain.say(Offer(request.task, 1, 19.0, "b")) == [Reserve(request.task, 1)]
    (commit,) = domain.say(Reserved(request.task, 1, 20.0, 10.0))
    assert isinstance(commit, Commit)


def test_an_offer_that_is_sooner_but_not_by_the_share_is_none() -> None:
    domain = a_domain(sooner=0.5)
    (request,) = domain.submit(a_task(1, NOW + 90.0, 40.0, 20.0, 10.0, 5.0))
    assert isinstance(request, Request)
    domain.say(Offer(request.task, 1, 20.5, "b"))
    assert domain.started == ["1"]


def test_what_waits_and_will_be_in_time_is_offered_while_it_waits() -> None:
    domain = a_domain(sooner=0.5)
    domain.submit(a_task(1, None, 30.0))  # takes the only host
    domain.submit(a_task(2, NOW + 90.0, 40.0, 20.0, 10.0, 5.0))
    assert requests(domain, 2.0) == 1


def test_a_guest_that_will_be_in_time_here_is_not_passed_on() -> None:
    domain = a_domain(sooner=0.5)
    domain.say(
        Advertisement(
            (a_service(), AdvertisedService("c", 0.0, 1, (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 4),)),)))
        )
    )
    domain.say(Commit(UUID, 1, 3, ("b",), DOCUMENT), a_guest())
    assert requests(domain, 3.0) == 0


def uneven(number: int, deadline: float) -> Task:
    """Return a task that takes one host here, for 40 s, and four elsewhere, for 5 s."""
    return a_task(number, deadline, 40.0, 50.0, 50.0, 5.0)


def slow(**changes: Any) -> Domain:
    """Return a domain with a free host that has learned that b needs 4 s to answer."""
    domain = a_domain(hosts=2, **changes)
    (request,) = [body for body in domain.submit(uneven(1, NOW + 10.0)) if isinstance(body, Request)]
    domain.pass_time(3.0)
    assert domain.started == ["1"]  # nobody has been that slow before
    domain.time += 1.0
    assert domain.say(Offer(request.task, 1, 5.0, "b")) == []
    return domain


def test_what_will_be_late_waits_for_as_long_as_answers_have_taken_before() -> None:
    domain = slow()
    (request,) = [body for body in domain.submit(uneven(2, domain.time + 10.0)) if isinstance(body, Request)]
    domain.pass_time(3.0)
    assert domain.started == []
    domain.time += 1.0
    assert domain.say(Offer(request.task, 1, 5.0, "b")) == [Reserve(request.task, 1)]
    domain.pass_time(3.0)
    assert domain.started == []
    domain.time += 1.0
    # Seen from the beginning it would end there no sooner than here; but here, too, it has lost that time.
    (commit,) = domain.say(Reserved(request.task, 1, 32.0, 10.0))
    assert isinstance(commit, Commit)


def test_nobody_is_waited_for_longer_than_an_administrator_allows() -> None:
    domain = slow(longest_timeout=2.0)
    domain.submit(uneven(2, domain.time + 10.0))
    domain.pass_time(3.0)
    assert domain.started == ["2"]


def test_what_will_be_in_time_here_does_not_wait_for_slow_neighbours() -> None:
    domain = slow(sooner=0.5)
    assert not [body for body in domain.submit(uneven(2, domain.time + 90.0)) if isinstance(body, Request)]
    assert domain.started == ["2"]
