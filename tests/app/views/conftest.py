from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import (
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    TaskSubmitted,
)
from tests.app.views.makers import NOW, PREDICTED_TASK


@pytest.fixture
def core() -> Coscheduler:
    """One task runs on the only host, one waits, one host is down."""
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2", up=False, reason="drained"))))
    (dispatch,) = (
        each for each in core.handle(TaskSubmitted(NOW, PREDICTED_TASK)).decisions if isinstance(each, DispatchAttempt)
    )
    core.handle(AttemptSubmitted(NOW, dispatch.attempt.uuid, "j"))
    core.handle(JobReported(NOW, JobReport(dispatch.attempt.uuid, JobState.RUNNING, "j", started=NOW)))
    core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id="2", number=2)))
    return core
