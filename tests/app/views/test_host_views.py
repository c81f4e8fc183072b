from __future__ import annotations

import math
from dataclasses import replace

from cosched.access import Principal, Role
from cosched.app.views.host_views import host_views
from cosched.app.views.plan_views import plan_view
from cosched.connector.hosts import Host, HostShare
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.elastic.values import Elastic
from cosched.coscheduler.events import (
    HostsObserved,
    JobReported,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.prediction.profile import PredictionSource, Profile
from tests.app.views.makers import CHIEF, ME, NOW, PREDICTED_TASK, YOU


def test_hosts_say_what_occupies_them(core: Coscheduler) -> None:
    busy, down = host_views(ME, core, NOW + 4)
    assert (busy.name, busy.task, busy.free_at) == ("h1", "1", NOW + 10)
    assert (down.up, down.reason, down.task, down.free_at) == (False, "drained", "", None)


def test_a_host_that_tasks_share_says_who_has_it_and_what_is_left() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0, share_hosts=True))
    core.handle(HostsObserved(NOW, (Host("h1", memory=8000, cores=8, gpus=0),)))
    for number in (1, 2, 3):
        part = replace(PREDICTED_TASK.spec, cores=2)
        core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id=str(number), number=number, spec=part)))
    (shared,) = host_views(ME, core, NOW)
    assert (shared.task, shared.tasks, shared.owner) == ("", ("1", "2", "3"), PREDICTED_TASK.owner)
    assert shared.free is not None
    assert shared.free.cores == 2
    (others,) = host_views(YOU, core, NOW)
    assert (others.tasks, others.owner, others.free) == ((), "", shared.free)
    assert (others.others_until, others.others_cores) == (None, 0)


def test_a_shared_host_names_all_owners_and_what_others_hold_of_it() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0, share_hosts=True))
    foreign = {"claimed": True, "free_at": NOW + 90, "reason": "taken by job 7"}
    part = Host("h1", memory=8000, cores=8, gpus=0, others=HostShare(1000, 3, 0), **foreign)  # type: ignore[arg-type]
    core.handle(HostsObserved(NOW, (part, Host("h2", memory=8000, cores=8, gpus=0, **foreign))))  # type: ignore[arg-type]
    for number, owner in ((1, "eva"), (2, "bob")):
        spec = replace(PREDICTED_TASK.spec, cores=2)
        core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id=str(number), number=number, owner=owner, spec=spec)))
    shared, whole = host_views(Principal("root", Role.ADMINISTRATOR), core, NOW)
    assert (shared.tasks, shared.owner) == (("1", "2"), "bob, eva")
    assert (shared.others_until, shared.others_cores) == (NOW + 90, 3)
    assert (whole.tasks, whole.others_until, whole.others_cores) == ((), NOW + 90, 0)


def test_a_promised_host_is_free_when_its_elastic_task_ends() -> None:
    """Its worker has no predicted end of its own, so that the host seemed to be taken for nobody knows how long."""
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2"))))
    spec = replace(PREDICTED_TASK.spec, elastic=Elastic(("/worker",)))
    profile = Profile((math.inf, 60.0), PredictionSource.USER)
    outcome = core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, spec=spec, profile=profile)))
    for each in [each.attempt for each in outcome.decisions if isinstance(each, DispatchAttempt)]:
        core.handle(JobReported(NOW, JobReport(each.uuid, JobState.RUNNING, "j", started=NOW)))
    core.handle(Tick(NOW + 1))
    for worker in [each for each in core.attempts.values() if each.worker]:
        core.handle(JobReported(NOW + 1, JobReport(worker.uuid, JobState.RUNNING, "w", started=NOW + 1)))
    assert {host: attempt.worker for attempt in core.attempts.values() for host in attempt.hosts} == {"h1": 0, "h2": 1}
    assert [(host.busy, host.free_at) for host in host_views(ME, core, NOW + 2)] == [(True, NOW + 60)] * 2


def test_a_run_that_nobody_predicted_has_no_end_in_any_document() -> None:
    """Plans reckon with half as long again, which the schedule and the hosts showed, at each look a little later."""
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2", claimed=True, reason="taken by job 7"))))
    passed = replace(PREDICTED_TASK, profile=None)
    (attempt,) = [
        each.attempt for each in core.handle(TaskSubmitted(NOW, passed)).decisions if isinstance(each, DispatchAttempt)
    ]
    core.handle(JobReported(NOW, JobReport(attempt.uuid, JobState.RUNNING, "j", started=NOW, hosts=("h1",))))
    core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id="2", number=2)))
    plan = plan_view(ME, core, NOW + 20)
    run, waiting = plan.placements
    assert (run.end, run.in_hand, run.reckoned, run.until) == (None, None, NOW + 30, NOW + 30)
    assert (plan.expected_ends(), plan.unforeseen) == ({"2": waiting.end}, 1)
    assert [(host.busy, host.free_at) for host in host_views(ME, core, NOW + 20)] == [(True, None), (True, None)]
    why = explain(core, "2", NOW + 20)
    assert why is not None
    assert any("nobody has predicted when 1 (n, running) will end" in words for words in why.waits_for)


def test_of_other_users_tasks_only_times_and_hosts_are_shown(core: Coscheduler) -> None:
    busy = host_views(YOU, core, NOW + 4)[0]
    assert (busy.task, busy.free_at) == ("", NOW + 10)
    plan = plan_view(YOU, core, NOW + 4)
    seen = [(spot.task, spot.deadline, spot.end) for spot in plan.placements]
    assert seen == [("", None, NOW + 10), ("", None, NOW + 20)]
    assert [spot.task for spot in plan_view(CHIEF, core, NOW + 4).placements] == ["1", "2"]
