from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.access import Principal, Role
from cosched.app.figures.deadline_outlook import deadlines
from cosched.app.views.host_views import host_views
from cosched.app.views.plan_views import plan_view
from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.elastic.values import Elastic, ElasticSettings
from cosched.coscheduler.events import (
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    ScheduleImproved,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.prediction.profile import PredictionSource, Profile
from tests.agents.makers import UUID, a_task
from tests.app.views.makers import ME, NOW, PREDICTED_TASK, YOU


def test_the_plan_has_what_runs_and_what_waits(core: Coscheduler) -> None:
    plan = plan_view(ME, core, NOW + 4)
    running, waiting = plan.placements
    assert (running.task, running.start, running.end, running.running) == ("1", NOW, NOW + 10, True)
    assert (waiting.task, waiting.start, waiting.end, waiting.running) == ("2", NOW + 10, NOW + 20, False)
    assert waiting.deadline == NOW + 60
    assert plan.makespan == pytest.approx(16.0)
    assert (plan.bound, plan.gap, plan.optimal) == (None, None, False)


def test_a_task_without_a_place_is_late_once_its_deadline_has_passed() -> None:
    """One that needed more hosts than were up was counted nowhere, and its explanation had no word of the deadline."""
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2"))))
    wide = replace(PREDICTED_TASK, profile=Profile((math.inf, 10.0), PredictionSource.USER))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2", up=False))))
    core.handle(TaskSubmitted(NOW, wide))
    assert wide.spec.deadline == NOW + 60
    assert deadlines(plan_view(ME, core, NOW + 59)).total == 0
    plan = plan_view(ME, core, NOW + 90)
    assert deadlines(plan).late == ("1",)
    assert plan_view(Principal("other", Role.USER), core, NOW + 90).overdue == ()
    why = explain(core, "1", NOW + 90)
    assert why is not None
    assert (why.slack, why.planned_end) == (-30.0, None)


def test_the_schedule_says_of_a_job_that_has_not_begun_what_the_list_and_the_explanation_say() -> None:
    """It was said to run since it was sent, and planned tasks to start earlier than their explanations said."""
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    core.handle(TaskSubmitted(NOW, PREDICTED_TASK))
    (attempt,) = core.attempts.values()
    core.handle(JobReported(NOW, JobReport(attempt.uuid, JobState.RUNNING, "j", started=NOW + 3)))
    core.handle(JobReported(NOW + 13, JobReport(attempt.uuid, JobState.COMPLETED, "j", finished=NOW + 13)))
    for number in (2, 3):
        core.handle(TaskSubmitted(NOW + 14, replace(PREDICTED_TASK, id=str(number), number=number)))
    sent, planned = plan_view(ME, core, NOW + 14).placements
    assert (sent.state, planned.state) == (core.tasks["2"].status.state, "queued")
    assert sent.state == "dispatching"
    for place in (sent, planned):
        told = explain(core, place.task, NOW + 14)
        assert told is not None
        assert (told.planned_start, told.planned_end) == (place.start, place.end)
        assert place.end == place.start + 10
    assert sent.start == NOW + 17


def test_places_on_shared_hosts_say_what_they_take_running_and_planned() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0, share_hosts=True))
    core.handle(HostsObserved(NOW, (Host("h1", memory=8000, cores=8, gpus=4),)))
    asked = PREDICTED_TASK.spec
    specs = (replace(asked, cores=6, gpus=1), replace(asked, cores=4, memory=500), replace(asked, exclusive=True))
    for number, spec in enumerate(specs, 1):
        core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id=str(number), number=number, spec=spec)))
    places = {place.task: place for place in plan_view(ME, core, NOW).placements}
    assert {name: place.running for name, place in places.items()} == {"1": True, "2": False, "3": False}
    taken = {name: (place.cores, place.memory, place.gpus) for name, place in places.items()}
    assert taken == {"1": (6, 6000, 1), "2": (4, 500, 0), "3": (0, 0, 0)}


def test_an_elastic_task_on_shared_hosts_is_shown_once_with_its_promised_places_and_each_loan() -> None:
    terms = ElasticSettings(settle=1.0)
    core = Coscheduler(
        CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0, share_hosts=True, elastic=terms)
    )
    core.handle(HostsObserved(NOW, tuple(Host(name, memory=8000, cores=8, gpus=0) for name in ("h1", "h2"))))
    spec = replace(PREDICTED_TASK.spec, cores=3, elastic=Elastic(("/bin/worker",)))
    times = Profile((math.inf, 6000.0, 4000.0, 3000.0), PredictionSource.MODEL, "test")
    core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id="1", number=1, spec=spec, profile=times)))
    for each in list(core.attempts.values()):
        core.handle(AttemptSubmitted(NOW, each.uuid, "1.0"))
        core.handle(JobReported(NOW, JobReport(each.uuid, JobState.RUNNING, started=NOW)))
    core.handle(Tick(NOW + 3))
    places = [(place.hosts, place.cores, place.lent) for place in plan_view(ME, core, NOW + 3).placements]
    assert sorted(places) == [(("h1",), 3, True), (("h1", "h2"), 3, False), (("h2",), 3, True)]
    hosts = host_views(ME, core, NOW + 3)
    assert [(host.task, host.tasks) for host in hosts] == [("1", ("1",)), ("1", ("1",))]
    assert [host.free.cores for host in hosts if host.free is not None] == [2, 2]


def test_a_plan_at_its_bound_is_optimal(core: Coscheduler) -> None:
    for bound, optimal in ((15.0, False), (16.0, True)):
        plan = plan_view(ME, core, NOW + 4).placements[1]
        proved = TaskPlan((plan.task,), (1,))
        core.handle(ScheduleImproved(NOW + 4, proved, since=NOW + 4, bound=bound, makespan=16.0))
        shown = plan_view(ME, core, NOW + 4)
        assert (shown.bound, shown.optimal) == (bound, optimal)
        assert shown.gap == pytest.approx(16.0 / bound - 1)


def test_the_plan_says_who_has_the_licences() -> None:
    core = Coscheduler(CoreSettings(UUID, staging=0.0, licences={"matlab": 2, "ansys": 1}))
    core.handle(HostsObserved(0.0, (Host("h1"), Host("h2"))))
    for number, owner in ((1, "ann"), (2, "bob"), (3, "ann")):
        task = replace(a_task(number), owner=owner, origin="", submitted=0.0)
        core.handle(TaskSubmitted(0.0, replace(task, spec=replace(task.spec, licences={"matlab": 1}))))
    found = plan_view(Principal("ann", Role.USER), core, 0.0).licences
    assert [(each.name, each.total, each.in_use, each.tasks, each.waiting) for each in found] == [
        ("ansys", 1, 0, (), 0),
        ("matlab", 2, 2, ("1",), 1),
    ]


def test_the_plan_says_when_one_run_in_twenty_ends_later() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    profile = Profile((10.0,), PredictionSource.HISTORY, low=(8.0,), high=(15.0,))
    for number in (1, 2):
        core.handle(TaskSubmitted(NOW, replace(PREDICTED_TASK, id=str(number), number=number, profile=profile)))
    running, waiting = plan_view(ME, core, NOW).placements
    assert (running.end_high, waiting.end_high) == (NOW + 15, NOW + 25)
    assert [place.end_high for place in plan_view(YOU, core, NOW).placements] == [None, None]


def test_the_plan_says_what_lasts_too_long_and_whose_end_cannot_be_counted_on(core: Coscheduler) -> None:
    (attempt,) = core.attempts
    late = plan_view(ME, core, NOW + 15).placements[0]
    assert late.overrun == pytest.approx(5.0)
    assert late.certain
    core.handle(JobReported(NOW + 16, JobReport(attempt, JobState.HELD, "j", reason="by a user")))
    held = plan_view(ME, core, NOW + 16).placements[0]
    assert (held.task, held.overrun, held.certain) == ("1", 0.0, False)
    assert (held.state, held.end, held.reckoned, held.occupies) == ("held", None, None, False)
    core.handle(JobReported(NOW + 17, JobReport(attempt, JobState.QUEUED, "j")))
    stuck, *behind = plan_view(ME, core, NOW + 60).placements
    assert (stuck.unstarted, stuck.certain) == (43.0, False)
    assert not any(each.certain for each in behind)


def test_the_plan_says_when_and_why_it_changed(core: Coscheduler) -> None:
    assert (plan_view(ME, core, NOW + 4).changed, plan_view(ME, core, NOW + 4).why) == (None, "")
    improved = replace(core.snapshot(), last_improvement=(NOW + 3, "makespan 61 → 58 s"))
    core = Coscheduler.from_snapshot(core.settings, improved)
    assert plan_view(ME, core, NOW + 4).changed == NOW + 3
    assert plan_view(ME, core, NOW + 4).why == "makespan 61 → 58 s"
