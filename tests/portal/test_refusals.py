from __future__ import annotations

import pytest

from cosched.portal.refusals import FormRefusal, FormRefusals


def test_a_refusal_is_its_owners_as_often_as_the_page_is_looked_at() -> None:
    kept = FormRefusals()
    key = kept.put("ann", FormRefusal("too late", {"name": "x"}))
    assert [kept.get("ann", key) for _ in range(2)] == [FormRefusal("too late", {"name": "x"})] * 2
    assert kept.get("bob", key) is None
    assert kept.get("ann", "other") is None


def test_old_ones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = FormRefusals(), 1000.0
    monkeypatch.setattr("cosched.portal.refusals.time.monotonic", lambda: now)
    key = kept.put("ann", FormRefusal("x"))
    now += 601
    assert kept.get("ann", key) is None


@pytest.mark.parametrize("size", [1, 2**20])
def test_of_many_or_large_ones_the_newest_are_kept(size: int) -> None:
    kept = FormRefusals()
    keys = [kept.put("ann", FormRefusal("x", {"model": "m" * size})) for _ in range(300)]
    there = [kept.get("ann", key) is not None for key in keys]
    assert there == sorted(there)
    assert sum(there) == (200 if size == 1 else 15)
