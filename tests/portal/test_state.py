from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.portal import state
from cosched.portal.state import ShownOnce

if TYPE_CHECKING:
    import pytest


def test_a_secret_is_shown_once_and_to_its_owner_alone() -> None:
    kept = ShownOnce()
    key, other = kept.put("ann", "a secret"), kept.put("ann", "another")
    assert kept.take("bob", key) == ""
    assert (kept.take("ann", key), kept.take("ann", key)) == ("a secret", "")
    assert kept.take("ann", other) == "another"
    assert kept.take("ann", "no key") == ""


def test_a_secret_that_nobody_comes_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_SECRET_SECONDS", 0.0)
    kept = ShownOnce()
    assert kept.take("ann", kept.put("ann", "a secret")) == ""
