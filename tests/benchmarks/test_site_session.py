from __future__ import annotations

import time

import pytest

from benchmarks.faults import site_session, wishes
from benchmarks.faults.harm import KINDS_OF

# Whether there is one to harm depends on the moment, or on the file system.
_BY_CHANCE = {
    "search killed",
    "models killed",
    *wishes.KINDS,
    "database read-only",
}


@pytest.mark.daemon
@pytest.mark.slow(30)
@pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")
def test_a_session_of_all_kinds_of_faults_finds_nothing_wrong() -> None:
    kinds = KINDS_OF["simulated"]
    session = site_session.run("simulated", len(kinds), time.monotonic() + 3600, seed=1, more={}, pace=0.2)
    assert session.wrong == ()
    assert session.tasks > 0
    assert session.answers > 0
    assert set(kinds) - _BY_CHANCE <= session.faults.keys()
