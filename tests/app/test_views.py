from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.agents import Peer, PeersChanged
from cosched.agents.protocol.advertised_rooms import advertised_rooms
from cosched.agents.protocol.advertisement import AdvertisedService, shared_class
from cosched.agents.protocol.letters import Advertisement
from cosched.agents.transport.allow_list import PeerEntry
from cosched.app.figures.deadline_outlook import deadlines
from cosched.app.views import (
    ended_explanation,
    explanation_view,
    handover_views,
    host_views,
    listed_view,
    peer_views,
    plan_view,
    profile_view,
    task_detail,
    task_view,
)
from cosched.connector.hosts import Host, HostShare
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.changes import DispatchAttempt
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
from cosched.coscheduler.handovers import Handover, HandoverState
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.task import TaskState
from cosched.prediction.calibration import Correction
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import LogEntry, Store
from tests.agents.makers import UUID, a_domain, a_service, a_task
from tests.changes import changed
from tests.coscheduler.makers import on_both
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from pathlib import Path

TASK = make_task(
    7,
    name="n",
    application="sweep3d",
    submitted=10.0,
    profile=Profile((5.0, math.inf, 2.0), PredictionSource.MODEL, "hw"),
    count=2,
)


@pytest.mark.parametrize(
    ("state", "finished", "deadline", "on_time"),
    [
        (TaskState.COMPLETED, 20.0, 20.0, True),
        (TaskState.COMPLETED, 20.1, 20.0, False),
        (TaskState.COMPLETED, 20.0, None, None),
        (TaskState.FAILED, 20.0, 30.0, None),
        (TaskState.RUNNING, None, 30.0, None),
    ],
)
def test_on_time_is_said_of_what_completed(
    state: TaskState, finished: float | None, deadline: float | None, on_time: bool | None
) -> None:
    assert task_view(change_task(TASK, state=state, finished=finished, deadline=deadline)).on_time is on_time


def test_a_task_shows_its_hosts_or_how_many_it_asks_for() -> None:
    assert task_view(TASK).count == 2
    assert task_view(change_task(TASK, hosts=("a", "b", "c"))).count == 3


def test_all_that_is_known_is_json() -> None:
    attempt = Attempt("u", "7", ("h1",), 1, 2.0, 11.0, AttemptState.HELD, reason="no licence")
    detail = task_detail(TASK, [attempt], [LogEntry(10.0, "submitted", "7", "sweep3d n")])
    document = json.loads(json.dumps(asdict(detail), allow_nan=False))
    assert document["profile"] == {
        "seconds": [5.0, None, 2.0],
        "source": "model",
        "hardware": "hw",
        "low": None,
        "high": None,
        "runs": 0,
        "stated": None,
        "explores": False,
        "changed": 0,
        "classes": [],
    }
    assert document["tries"][0]["state"] == "held"
    assert document["log"][0]["kind"] == "submitted"
    assert profile_view(Profile((1.0,), PredictionSource.USER)).source == "user"


def test_lists_show_of_a_task_what_is_shown_of_it_alone(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    done = change_task(
        TASK,
        id="8",
        number=8,
        state=TaskState.COMPLETED,
        deadline=20.5,
        finished=20.25,
        hosts=("b", "a"),
        attempts=1,
        exit_code=0,
        started=1 / 3,
    )
    store.commit(changed([TASK, done]))
    assert [listed_view(row) for row in store.listed()] == [task_view(done), task_view(TASK)]
    store.close()


def entry(name: str, *, paused: bool = False) -> PeerEntry:
    return PeerEntry(name=name, address=f"{name}:1", certificate="none", paused=paused)


@pytest.mark.parametrize(("later", "free"), [(0.0, 0), (5.0, 4)])
def test_what_was_advertised_is_shown_as_of_now(later: float, free: int) -> None:
    domain = a_domain()
    domain.happen(PeersChanged(domain.time, (Peer("b"), Peer("c"))))
    domain.say(Advertisement((a_service(free=3.0),)))
    domain.submit(a_task(1, None))
    agent = domain.broker.agent
    assert agent is not None
    entries = {"b": entry("b"), "c": entry("c", paused=True)}
    b, c = peer_views(entries, {"c": "no route"}, agent, domain.broker.core, domain.time + later)
    assert (b.name, b.hosts, b.free, b.hardware, b.heard) == ("b", 4, free, ("fast",), domain.time)
    assert (c.hosts, c.heard, c.paused, c.fault) == (0, None, True, "no route")
    assert (b.given, b.taken) == (0, 0)


def test_of_shared_hosts_the_free_cores_are_shown_too() -> None:
    domain = a_domain()
    domain.happen(PeersChanged(domain.time, (Peer("b"),)))
    rooms = advertised_rooms([[(0.0, HostShare(0, 4, 0)), (9.0, HostShare(0, 64, 0))]] * 2)
    domain.say(Advertisement((AdvertisedService("b", 0.0, 0, (shared_class("fast", rooms, 0),)),)))
    agent = domain.broker.agent
    assert agent is not None
    (b,) = peer_views({"b": entry("b")}, {}, agent, domain.broker.core, domain.time)
    assert (b.hosts, b.free, b.cores, b.free_cores) == (2, 0, 128, 8)


def test_hand_overs_are_told_as_they_were_written() -> None:
    (view,) = handover_views([Handover(UUID, 2, "1", "b", HandoverState.ENDED, "why", 1.0, 2.0, "completed in b")])
    assert (view.peer, view.epoch, view.state, view.why, view.outcome) == ("b", 2, "ended", "why", "completed in b")


NOW = 1_750_000_000.0
PREDICTED_TASK = make_task(
    1, name="n", submitted=NOW, owner="me", profile=Profile((10.0,), PredictionSource.USER), deadline=NOW + 60
)


ME = Principal("me", Role.USER)
YOU = Principal("you", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)


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


def test_the_plan_has_what_runs_and_what_waits(core: Coscheduler) -> None:
    plan = plan_view(ME, core, NOW + 4)
    running, waiting = plan.placements
    assert (running.task, running.start, running.end, running.running) == ("1", NOW, NOW + 10, True)
    assert (waiting.task, waiting.start, waiting.end, waiting.running) == ("2", NOW + 10, NOW + 20, False)
    assert waiting.deadline == NOW + 60
    assert plan.makespan == pytest.approx(16.0)
    assert (plan.bound, plan.gap, plan.optimal) == (None, None, False)


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
    places = [(place.hosts, place.cores) for place in plan_view(ME, core, NOW + 3).placements]
    assert sorted(places) == [(("h1",), 3), (("h1", "h2"), 3), (("h2",), 3)]
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


def test_an_explained_task_shows_what_runs_on_each_class_have_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341"))
    core.handle(HostsObserved(0.0, (Host("h1", host_class="fast"), Host("h2", host_class="slow"))))
    core.handle(TaskSubmitted(0.0, on_both(1, [4.0], [9.0])))
    monkeypatch.setattr(core, "corrections", lambda: {"app/fast": Correction(1.5, 5), "app/slow": Correction(2.0, 5)})
    found = explain(core, "1", 0.0)
    assert found is not None
    profile = explanation_view(found, core).profile
    assert profile is not None
    assert profile.seconds == (6.0,)  # it is planned on the fast one
    assert [(each.hardware, each.seconds) for each in profile.classes] == [("fast", (6.0,)), ("slow", (18.0,))]


def test_an_ended_task_is_explained_by_how_it_ended() -> None:
    task = change_task(PREDICTED_TASK, state=TaskState.FAILED, reason="exit code 3", finished=NOW + 50)
    explanation = ended_explanation(task, errors=["out of memory"])
    assert (explanation.waits_for, explanation.errors) == (("it failed: exit code 3",), ("out of memory",))
    assert explanation.slack is None  # it failed before its deadline, and has not met it
    done = change_task(PREDICTED_TASK, state=TaskState.COMPLETED, finished=NOW + 50)
    assert (ended_explanation(done).slack, ended_explanation(done).waits_for) == (10, ("it has completed",))


def test_of_other_users_tasks_only_times_and_hosts_are_shown(core: Coscheduler) -> None:
    busy = host_views(YOU, core, NOW + 4)[0]
    assert (busy.task, busy.free_at) == ("", NOW + 10)
    plan = plan_view(YOU, core, NOW + 4)
    seen = [(spot.task, spot.deadline, spot.end) for spot in plan.placements]
    assert seen == [("", None, NOW + 10), ("", None, NOW + 20)]
    assert [spot.task for spot in plan_view(CHIEF, core, NOW + 4).placements] == ["1", "2"]
