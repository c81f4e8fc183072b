from __future__ import annotations

from cosched.simulation.simulated_domain import Calendar


def test_actions_happen_by_time_and_at_one_moment_in_the_order_they_came() -> None:
    calendar, seen = Calendar(), list[str]()
    for name, when in (("c", 2.0), ("a", 1.0), ("b", 1.0)):
        calendar.at(when, lambda name=name: seen.append(f"{name}{calendar.time:g}"))  # type: ignore[misc]  # bound now
    while calendar.step(1.5):
        pass
    assert seen == ["a1", "b1"]
    assert calendar.pending
    assert calendar.step(9.0)
    assert seen[-1] == "c2"
    assert not calendar.pending


def test_what_is_put_off_happens_after_all_else_of_the_moment() -> None:
    calendar, seen = Calendar(), list[str]()

    def first() -> None:
        calendar.put_off(lambda: seen.append("last"))
        calendar.at(1.0, lambda: seen.append("third"))
        seen.append("first")

    calendar.at(1.0, first)
    calendar.at(1.0, lambda: seen.append("second"))
    calendar.at(2.0, lambda: seen.append("next moment"))
    while calendar.step(5.0):
        pass
    assert seen == ["first", "second", "third", "last", "next moment"]


def test_time_never_runs_backwards() -> None:
    calendar = Calendar()
    calendar.at(3.0, lambda: calendar.at(1.0, lambda: None))
    while calendar.step(5.0):
        pass
    assert calendar.time == 3.0
