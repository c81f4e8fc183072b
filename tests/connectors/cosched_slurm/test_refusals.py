from __future__ import annotations

import pytest

from cosched_slurm.commands import QUEUE_FULL, refusal_error

_POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


@pytest.mark.parametrize(
    "words",
    [
        f"sbatch: error: {limit} sbatch: error: Batch job submission failed: {_POLICY}"
        for limit in (
            "AssocMaxSubmitJobLimit",
            "AssocGrpSubmitJobsLimit",
            "QOSGrpSubmitJobsLimit",
            "QOSMaxSubmitJobPerUserLimit",
            "MaxSubmitJobsPerAccount",
        )
    ]
    + [_POLICY, "Resource temporarily unavailable"],
)
def test_a_limit_on_how_many_wait_and_run_passes_by_itself(words: str) -> None:
    error = refusal_error("sbatch failed", words, submitting=True)
    assert (error.transient, error.refused) == (True, True)
    assert str(error) == f"Slurm takes no more jobs for now: {words}"


@pytest.mark.parametrize("limit", ["QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit"])
def test_a_job_that_is_too_large_never_goes(limit: str) -> None:
    error = refusal_error("sbatch failed", f"sbatch: error: {limit} sbatch: error: {_POLICY}", submitting=True)
    assert (error.transient, error.refused) == (False, False)


def test_what_is_not_a_submission_is_never_refused_for_good() -> None:
    error = refusal_error("scancel failed", "Access/permission denied", submitting=False)
    assert (error.transient, error.refused) == (True, False)


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        (b"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n", True),
        (b"sbatch: error: Slurm job queue full, sleeping and retrying\n", True),
        (b"sbatch: Job creation temporarily disabled, retrying\n", True),
        (b"sbatch: lua: do not go on sleeping and retrying here\n", False),
    ],
)
def test_sbatch_says_that_it_waits_for_room(line: bytes, waits: bool) -> None:
    assert bool(QUEUE_FULL.search(line)) is waits
