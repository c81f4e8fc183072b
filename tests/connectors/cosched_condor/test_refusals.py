"""What HTCondor's refusals mean."""

from __future__ import annotations

import pytest

from cosched_condor.htcondor_client import refusal_error


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("expected next ProcId to be 5, but Schedd says -4", "MAX_JOBS_PER_SUBMISSION"),
        ("expected next ProcId to be 0, but Schedd says -3", "MAX_JOBS_PER_OWNER"),
        ("expected next ProcId to be 1, but Schedd says -2", "MAX_JOBS_SUBMITTED"),
        ("Failed to create new cluster.SCHEDD:22:MAX_JOBS_SUBMITTED exceeded. Limit=4", "MAX_JOBS_SUBMITTED"),
    ],
)
def test_a_limit_is_named_and_passes(words: str, limit: str) -> None:
    """In words that 25.14 was seen to use."""
    error = refusal_error("HTCondor, asked to submit", words, submitting=True)
    assert (error.transient, error.refused) == (True, True)
    assert limit in str(error)
    assert not refusal_error("HTCondor, asked to list its hosts", words, submitting=False).refused


@pytest.mark.parametrize(
    ("words", "transient"),
    [
        ("Failed to create job ad, errmsg=Submit:-1: no such thing", False),
        ("expected next ProcId to be 5, but Schedd says -1", True),
        ("Failed to connect", True),
    ],
)
def test_what_is_no_limit_is_final_or_passes(words: str, transient: bool) -> None:
    error = refusal_error("HTCondor, asked to submit", words, submitting=True)
    assert (error.transient, error.refused) == (transient, False)
    assert words in str(error)
