from __future__ import annotations

from cosched.agents.protocol.letters import Advertisement, Decline, Inquiry, Offer, Reserve
from cosched.agents.statistics import AgentStatistics, RunningMean

UUID = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"


def test_letters_about_tasks_are_counted_apart_from_advertising() -> None:
    found = AgentStatistics()
    found.count_offered()
    found.count_offered()
    for body in (Advertisement(), Inquiry(), Reserve(UUID, 1)):
        found.count_sent(body)
    for answer in (Advertisement(), Offer(UUID, 1, 5.0, "b"), Decline(UUID, 1, "no")):
        found.count_received(answer)
    figures = found.figures(7.0)
    assert figures.since == 7.0
    assert figures.spreading == 2
    assert figures.letters_each == 1.5
    assert figures.sent == {"advertisement": 1, "inquiry": 1, "reserve": 1}


def test_a_figure_without_samples_is_none() -> None:
    figures = AgentStatistics().figures(0.0)
    assert (figures.hops, figures.staleness, figures.misjudged, figures.letters_each) == (None, None, None, None)


def test_means_leave_out_unknown_values() -> None:
    found = AgentStatistics()
    found.count_forwarded(4.0, None)
    found.count_forwarded(None, 3.0)
    found.count_taken(2)
    found.count_taken(3)
    figures = found.figures(0.0)
    assert (figures.forwarded, figures.staleness, figures.misjudged, figures.taken, figures.hops) == (
        2,
        4.0,
        3.0,
        2,
        2.5,
    )
    mean = RunningMean()
    mean.add(1.0)
    assert mean.value == 1.0
