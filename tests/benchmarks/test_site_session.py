from __future__ import annotations

import time

import pytest

from benchmarks.faults import site_session


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")
def test_a_session_of_all_kinds_of_faults_finds_nothing_wrong() -> None:
    session = site_session.run("simulated", 7, time.monotonic() + 60, seed=1, more={})
    assert session.wrong == ()
    assert session.tasks > 0
    assert {"daemon killed", "daemon killed at its start", "database locked", "disk full"} <= session.faults.keys()
