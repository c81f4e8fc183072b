from __future__ import annotations

from cosched.prediction.loads.load_change import LoadChange

MINUTE = 60.0


def test_a_load_as_expected_is_no_change() -> None:
    change = LoadChange()
    change.expect(0.25)
    for _ in range(2000):
        change.observe(0.25, MINUTE, usual=120.0)
    assert change.observed is None


def test_one_long_presence_is_no_change() -> None:
    change = LoadChange()
    change.expect(0.1)
    for part in [0.0] * 50 + [1.0] * 8 + [0.0] * 50:  # eight minutes where five are usual
        change.observe(part, MINUTE, usual=300.0)
    assert change.observed is None


def test_an_owner_who_works_much_more_is_noticed_with_how_much() -> None:
    change = LoadChange()
    change.expect(0.1)
    for _ in range(40):
        change.observe(0.7, MINUTE, usual=120.0)
    assert change.observed is not None
    assert abs(change.observed - 0.7) < 1e-9


def test_an_owner_who_stays_away_is_noticed_and_his_return_too() -> None:
    change = LoadChange()
    change.expect(0.5)
    for _ in range(60):
        change.observe(0.0, MINUTE, usual=120.0)
    assert change.observed == 0.0
    for _ in range(60):
        change.observe(0.5, MINUTE, usual=120.0)
    assert change.observed is None


def test_a_past_that_has_caught_up_ends_the_change() -> None:
    change = LoadChange()
    change.expect(0.0)
    for _ in range(60):
        change.observe(0.6, MINUTE, usual=120.0)
    assert change.observed is not None
    change.expect(0.55)
    assert change.observed is None


def test_a_change_is_noticed_after_as_much_of_the_owners_time_as_was_set() -> None:
    changes = [LoadChange(), LoadChange(notice=60.0)]
    for _ in range(2):
        for change in changes:
            change.observe(1.0, MINUTE, usual=0.0)
    assert [change.observed for change in changes] == [None, 1.0]
