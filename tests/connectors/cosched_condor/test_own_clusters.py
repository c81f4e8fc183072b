"""Whose a slot's job is."""

from __future__ import annotations

from cosched_condor.machines import OwnClusters


def _slot(job: str, scheduler: str = "") -> dict[str, str]:
    return {"JobId": job, **({"GlobalJobId": f"{scheduler}#{job}#1769860803"} if scheduler else {})}


def test_the_same_number_with_another_scheduler_is_not_ours() -> None:
    """Regression: in a pool with two schedulers another's cluster 7 passed for ours, and its host for free."""
    own = OwnClusters()
    own.add(["7.0"])
    assert own.owns(_slot("7.3", "a@h"))  # nothing better is known
    own.named("a@h")
    assert own.owns(_slot("7.3", "a@h"))
    assert own.owns(_slot("7.3"))
    assert not own.owns(_slot("7.3", "b@h"))
    assert not own.owns(_slot("8.0", "a@h"))


def test_what_is_being_submitted_is_ours_before_its_number_is_known() -> None:
    own = OwnClusters()
    own.add(["7.0"])
    own.named("a@h")
    with own.submitting():
        assert own.owns(_slot("8.0", "a@h"))
        assert not own.owns(_slot("8.0", "b@h"))
        assert not own.owns(_slot("6.0", "a@h"))
    assert not own.owns(_slot("8.0", "a@h"))
