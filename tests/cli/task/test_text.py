from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cosched.api.documents import (
    AlternativeView,
    ElasticRequest,
    Evidence,
    ExplanationView,
    Forecast,
    ForwardedPlacement,
    HostMoveView,
    NearRun,
    PlacementView,
    PlanView,
    ProfileView,
    RescueView,
    RestartsView,
    TaskDetail,
)
from cosched.api.times import format_optional_time, format_time
from cosched.cli.task.text import accepted_lines, explanation_lines, forecast_lines, task_lines, task_rows

TASK = TaskDetail(
    id="7",
    name="night run",
    application="sweep3d",
    state="queued",
    reason="",
    owner="ann",
    submitted=1e9,
    deadline=1e9 + 100,
    best_effort=False,
    hosts=(),
    count=1,
    predicted=None,
    actual=None,
    dispatched=None,
    started=None,
    finished=None,
    exit_code=None,
    attempts=0,
    on_time=None,
    command=("/x", "a b"),
    parameters={"nx": 5},
    environment={},
    directory="",
    prepare=(),
    notify=(),
    native=None,
    time_limit=None,
    profile=None,
    tries=(),
    log=(),
)
PROFILE = ProfileView(seconds=(None, 40.0, 10.0), source="model", hardware="hw")


def plan(*places: PlacementView, forwarded: tuple[ForwardedPlacement, ...] = ()) -> PlanView:
    empty = PlanView(time=1e9, placements=(), makespan=0.0, bound=None, gap=None, evaluations=0)
    return replace(empty, placements=places, forwarded=forwarded)


def test_a_row_shows_the_planned_end_and_what_is_in_hand() -> None:
    place = PlacementView(task="7", hosts=("a", "b"), start=1e9, end=1e9 + 40, deadline=None, running=False)
    ((number, name, owner, state, hosts, _, end, in_hand, _),) = task_rows([TASK], plan(place))
    assert (number, name, owner, state, hosts, in_hand) == ("7", "night run", "ann", "queued", "2", "1 min")
    assert end.startswith("~2001-09-")


def test_a_row_promises_no_end_behind_a_job_that_has_not_begun_and_says_what_lasts_too_long() -> None:
    place = PlacementView(task="7", hosts=("a",), start=1e9, end=1e9 + 40, deadline=None, running=True)
    trouble = (
        (replace(place, unstarted=70.0, certain=False), "", "not begun for 1 min 10 s"),
        (replace(place, running=False, certain=False), "", "no end is promised"),
        (replace(place, overrun=12.0), "1 min", "12 s longer than predicted"),
    )
    for spot, in_hand, note in trouble:
        (row,) = task_rows([replace(TASK, predicted=30.0)], plan(spot))
        assert row[-2:] == (in_hand, note)


def test_a_run_that_nobody_predicted_has_no_end_yet() -> None:
    """It was said to take as long again, at each look a little later."""
    place = PlacementView(task="7", hosts=("a",), start=1e9, end=None, reckoned=1e9 + 40, deadline=None, running=True)
    (row,) = task_rows([replace(TASK, predicted=None, state="running")], plan(place))
    assert row[6:8] == ("", "")


def test_a_task_without_an_end_is_late_when_its_deadline_is_past() -> None:
    waiting = replace(TASK, state="queued", deadline=1e9 - 240.0)
    assert [row[7] for row in task_rows([waiting, replace(waiting, deadline=1e9 + 240.0)], plan())] == ["−4 min", ""]


def test_a_row_shows_the_end_that_another_domain_expects() -> None:
    there = ForwardedPlacement(task="7", peer="south", end=1e9 + 40, deadline=1e9 + 100)
    (row,) = task_rows([replace(TASK, state="forwarded", peer="south")], plan(forwarded=(there,)))
    assert row[6].startswith("~2001-09-")
    assert row[7:] == ("1 min", "in south")


def test_a_row_shows_the_real_end_and_by_how_much_it_was_late() -> None:
    late = replace(TASK, state="completed", finished=1e9 + 175, on_time=False)
    (row,) = task_rows([late], plan())
    assert row[6].startswith("2001-09-")
    assert row[7] == "−1 min 15 s"


def test_a_row_says_from_and_to_where_a_task_was_forwarded() -> None:
    def note(**changes: Any) -> str:
        return task_rows([replace(TASK, **changes)], plan())[0][-1]

    assert note() == ""
    assert note(state="completed", peer="south") == "in south"
    assert note(origin="north") == "from north"
    assert note(origin="a", peer="c", reason="b cannot run it") == "from a, in c: b cannot run it"


def test_a_task_leaves_out_what_is_not_known() -> None:
    text = "\n".join(task_lines(TASK))
    assert "command:     /x 'a b'" in text
    assert "prediction:  none: the resource manager places it" in text
    assert "finished" not in text
    assert "prediction:  none: it cannot run here" in "\n".join(task_lines(replace(TASK, origin="north")))
    done = replace(TASK, state="completed", finished=1e9 + 40, on_time=True, exit_code=0, profile=PROFILE)
    text = "\n".join(task_lines(done))
    assert "met with 1 min in hand" in text
    assert "exit code:   0" in text
    assert "prediction:  40 s on 2 hosts, at best 10 s on 3 hosts (model, hw)" in text


def test_a_task_that_failed_says_how_its_errors_are_read() -> None:
    failed = replace(TASK, state="failed", started=1e9, finished=1e9 + 40, exit_code=3)
    assert f"its errors:  cosched task err {TASK.id}" in task_lines(failed)
    assert not any("its errors" in line for line in task_lines(replace(failed, started=None)))  # it never ran


@pytest.mark.parametrize(("slack", "words"), [(75.0, "met with 1 min 15 s in hand"), (-75.0, "missed by 1 min 15 s")])
def test_an_explanation_says_how_the_deadline_stands(slack: float, words: str) -> None:
    hosts = tuple(f"h{number}" for number in range(8))
    lines = explanation_lines(
        ExplanationView(
            task="7",
            state="queued",
            waits_for=("task 3",),
            planned_start=1e9,
            planned_end=1e9 + 40,
            planned_hosts=hosts,
            slack=slack,
            would_change=("more hosts",),
        )
    )
    assert lines[1] == "it waits for:  task 3"
    assert lines[2].endswith("on h0, h1, h2, h3, h4, h5 and 2 more")
    assert words in lines[4]
    assert lines[5] == "would change:  more hosts"


def test_an_explanation_says_who_took_hosts_from_whom() -> None:
    moves = (
        HostMoveView(hosts=("a", "b"), giver="3", taker="7", time=1e9),
        HostMoveView(hosts=("c",), giver="7", taker="9", time=None),
    )
    lines = explained("running", host_moves=moves)
    assert lines[2] == f"took hosts:    a, b from task 3, {format_optional_time(1e9)}"
    assert lines[3] == "gave hosts:    c to task 9, which are being left"


def explained(state: str, **changes: Any) -> list[str]:
    found = ExplanationView(
        task="7",
        state=state,
        waits_for=("what is said",),
        planned_start=1e9,
        planned_end=1e9 + 40,
        planned_hosts=("a",),
        slack=None,
        would_change=(),
    )
    return explanation_lines(replace(found, **changes))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("queued", ["it waits for:", "start:", "end:"]),
        ("dispatching", ["what it does:", "start:", "end:"]),
        ("running", ["what it does:", "started:", "end:"]),
        ("completed", ["how it ended:", "started:", "ended:"]),
        ("cancelled", ["how it ended:", "started:", "ended:"]),
    ],
)
def test_an_explanation_speaks_of_what_is_past_as_past(state: str, words: list[str]) -> None:
    lines = explained(state)
    assert lines[0] == f"task 7 is {state}"
    assert [line[:14].strip() for line in lines[1:]] == words


def test_the_explanation_of_a_failure_ends_with_what_its_program_said() -> None:
    lines = explained("failed", errors=("cannot open mesh.dat", "\x1b[31mgiving up"))
    assert lines[2:5] == ["its errors:    cannot open mesh.dat", lines[3], "read them all: `cosched task err 7`"]
    assert lines[3].startswith("its errors:")
    assert "\x1b" not in lines[3]
    assert not any("cosched task err" in line for line in explained("failed", planned_start=None))  # it never ran


def test_a_program_that_checkpoints_says_how_it_took_being_asked() -> None:
    task = replace(TASK, elastic=ElasticRequest(kind="restart"), state="completed")
    assert not any(line.startswith("restarts:") for line in task_lines(task))
    deaf = replace(task, restarts=RestartsView(count=0, left=1.0, reason="", unheeded=1))
    assert "restarts:    asked 1 time in vain, and let go on" in task_lines(deaf)
    forced = replace(task, restarts=RestartsView(count=1, left=1.0, reason="task 2", forced=1))
    (line,) = (line for line in task_lines(forced) if line.startswith("restarts:"))
    assert line.endswith("left: task 2; ended by force 1 time, for it had not stopped when it was asked")


def test_what_would_save_a_late_task_is_a_command() -> None:
    rescues = (
        RescueView(kind="hold", task="3", name="night", end=1e9, saves=True, made_late=0),
        RescueView(kind="hosts", task="", name="", end=1e9, saves=True, made_late=0, hosts=4),
        RescueView(kind="first", task="", name="", end=1e9, saves=False, made_late=2),
        RescueView(kind="deadline", task="", name="", end=1e9, saves=True, made_late=0),
    )
    found = ExplanationView(
        task="7",
        state="queued",
        waits_for=(),
        planned_start=None,
        planned_end=None,
        planned_hosts=(),
        slack=-5.0,
        would_change=(),
        rescues=rescues,
    )
    then = format_time(1e9)
    assert explanation_lines(found)[-4:] == [
        f"would save it: `cosched task hold 3` (night): it would end {then}",
        f"would save it: `cosched task edit 7 --hosts 4`: it would end {then}",
        f"would help:    first in the queue it would end {then}; 2 other tasks would then be late",
        f"would save it: `cosched task edit 7 --deadline '{then}'`",
    ]


def test_a_forecast_without_room_says_so() -> None:
    forecast = Forecast(
        application="a",
        name="n",
        profile=PROFILE,
        planned_start=None,
        planned_end=None,
        planned_hosts=(),
        deadline=None,
        meets_deadline=None,
        earliest_deadline=1e9,
    )
    assert forecast_lines(forecast)[1] == "start:         not now, too few hosts are up"
    assert "no model" in forecast_lines(replace(forecast, profile=None))[0]
    assert "nothing plans towards it" in forecast_lines(replace(forecast, profile=None, deadline=1e9))[-1]
    late = replace(forecast, deadline=1e9, meets_deadline=False, offered=True)
    assert forecast_lines(late)[-1].endswith("missed as things stand: neighbouring domains would be asked")
    assert forecast_lines(replace(late, claim=0.0))[-1].startswith("claim:         none: it takes turns")
    assert forecast_lines(replace(late, claim=7200.0))[-1] == "claim:         2 host-hours of the budget"


def test_a_forecast_says_the_shape_and_what_was_understood_of_its_needs() -> None:
    """A dry run of 64 processes did not say that each would be on a host of its own."""
    forecast = Forecast(
        application="a",
        name="n",
        profile=None,
        planned_start=None,
        planned_end=None,
        planned_hosts=(),
        deadline=None,
        meets_deadline=None,
        earliest_deadline=None,
        count=2,
        cores=64,
        memory=32,
        processes_per_host=64,
    )
    needs = "needs:         32M of memory, 64 cores on each host"
    assert forecast_lines(forecast)[1:] == [
        "hosts:         2 that the resource manager chooses, with 64 processes on each",
        needs,
    ]
    planned = replace(forecast, profile=PROFILE, planned_start=1e9, planned_end=1e9 + 9, planned_hosts=("a", "b"))
    assert forecast_lines(planned)[-1] == needs


def test_a_forecast_names_the_runs_on_which_it_rests() -> None:
    forecast = Forecast(
        application="a",
        name="n",
        profile=PROFILE,
        planned_start=None,
        planned_end=None,
        planned_hosts=(),
        deadline=None,
        meets_deadline=None,
        earliest_deadline=1e9,
        evidence=Evidence(
            nearest=(NearRun(numbers=(1000.0, 0.5), hosts=4, seconds=41.0), NearRun(numbers=(), hosts=1, seconds=99.0)),
            beyond=("9 is more than 8, as all runs had",),
            untried=(1, 3, 4, 5, 8),
        ),
    )
    assert [line.strip() for line in forecast_lines(forecast)[1:4]] == [
        "nearest runs: 41 s on 4 hosts with 1000 0.5, 1 min 39 s on 1 host",
        "9 is more than 8, as all runs had",
        "nothing like it has run on 1, 3-5, 8 hosts: run one there to be surer",
    ]


def test_what_is_uncertain_is_shown_with_its_range() -> None:
    unsure = replace(PROFILE, low=(None, 35.0, 9.0), high=(None, 60.0, 14.0))
    text = "\n".join(task_lines(replace(TASK, profile=unsure)))
    assert "prediction:  40 s (35 s to 1 min) on 2 hosts, at best 10 s (9.0 s to 14 s) on 3 hosts (model, hw)" in text
    found = ExplanationView(
        task="7",
        state="queued",
        waits_for=(),
        planned_start=1e9,
        planned_end=1e9 + 40,
        slack=None,
        end_low=1e9 + 35,
        end_high=1e9 + 60,
        planned_hosts=("a",),
        would_change=(),
    )
    (end,) = (line for line in explanation_lines(found) if line.startswith("end:"))
    assert end.endswith("in nine runs of ten)")
    assert end.count("2001-09-") == 3


def test_an_explanation_without_known_hosts_names_none() -> None:
    found = ExplanationView(
        task="7",
        state="completed",
        waits_for=(),
        planned_start=1e9,
        planned_end=None,
        slack=None,
        planned_hosts=(),
        would_change=(),
    )
    (start,) = (line for line in explanation_lines(found) if line.startswith("started:"))
    assert not start.endswith((" on", " on "))


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        pytest.param(
            ProfileView(seconds=(16.0,), source="model", hardware="fast", runs=24, stated=(10.0,), changed=21),
            "16 s on 1 host (model, corrected by 24 runs like it, 1.6 times longer since run 21, fast)",
            id="a model that has become too short",
        ),
        pytest.param(
            ProfileView(seconds=(5.0,), source="user", hardware="", runs=5, stated=(10.0,)),
            "5.0 s on 1 host (user, corrected by 5 runs like it, 2.0 times shorter)",
            id="a user's figure that is too long",
        ),
        pytest.param(
            ProfileView(seconds=(None, 8.0), source="user", hardware="", runs=5, stated=(4.0, 8.1), explores=True),
            "8.0 s on 2 hosts (user, corrected by 5 runs like it, tries 2 hosts to learn how long that takes)",
            id="a try",
        ),
        pytest.param(
            ProfileView(seconds=(5.0,), source="model", hardware="fast", stated=(3.5,)),
            "5.0 s on 1 host (model, with the start-up of other programs, fast)",
            id="a first run",
        ),
        pytest.param(
            ProfileView(seconds=(5.0,), source="history", hardware="", runs=9, changed=7),
            "5.0 s on 1 host (from 9 runs like it, changed at run 7)",
            id="runs alone",
        ),
    ],
)
def test_a_prediction_says_what_runs_made_of_it(profile: ProfileView, text: str) -> None:
    assert f" {text}" in "\n".join(task_lines(replace(TASK, profile=profile)))


def test_a_task_that_has_ended_or_runs_shows_the_shape_that_it_had() -> None:
    ran = replace(TASK, state="completed", hosts=("a", "b"), count=2, host_cores=8, finished=1e9 + 40)
    assert task_rows([ran], plan())[0][4] == "2x8"
    assert "hosts:       a, b, 8 cores of each" in task_lines(ran)
    whole = replace(ran, host_cores=0)
    assert task_rows([whole], plan())[0][4] == "2"
    assert "hosts:       a, b" in task_lines(whole)
    place = PlacementView(task="7", hosts=("a",), start=1e9, end=1e9 + 40, deadline=None, running=True)
    assert task_rows([replace(ran, state="running", finished=None)], plan(place))[0][4] == "1x8"
    again = replace(ran, state="queued", finished=None)  # its first attempt had other cores than are planned now
    assert task_rows([again], plan(replace(place, running=False, cores=2)))[0][4] == "1x2"


@pytest.mark.parametrize(("asked", "line"), [("2-8", "2-8 hosts"), ("1", "1 host")])
def test_a_task_shows_how_many_hosts_were_asked_for(asked: str, line: str) -> None:
    assert f"asked for:   {line}" in task_lines(replace(TASK, hosts_range=asked))


def test_a_task_with_several_shapes_shows_them_and_the_one_that_is_planned() -> None:
    shapes = tuple(
        AlternativeView(cores=cores, memory=0, gpus=0, processes_per_host=1, profile=replace(PROFILE, seconds=seconds))
        for cores, seconds in ((1, (90.0,)), (8, (None, 10.0)))
    )
    lines = task_lines(replace(TASK, cores=1, cores_range="1-8", alternatives=shapes))
    assert "chosen from: 1-8 cores on each host" in lines
    assert "shape:       1 core of each host: 1 min 30 s on 1 host" in lines
    assert "shape:       8 cores of each host: 10 s on 2 hosts" in lines
    ranks = replace(shapes[1], cores=16, processes_per_host=8)
    lines = task_lines(replace(TASK, processes="8-16", alternatives=(ranks,)))
    assert "chosen from: 8-16 processes on all hosts together" in lines
    assert "shape:       16 cores of each host (8 processes): 10 s on 2 hosts" in lines
    place = PlacementView(task="7", hosts=("a", "b"), start=1e9, end=1e9 + 40, deadline=None, running=False, cores=8)
    assert task_rows([TASK], plan(place))[0][4] == "2x8"
    explained = ExplanationView(
        task="7",
        state="queued",
        waits_for=(),
        planned_start=1e9,
        planned_end=1e9 + 9,
        planned_hosts=("a", "b"),
        planned_cores=8,
        slack=None,
        would_change=(),
    )
    assert any(line.endswith("on a, b, 8 cores of each") for line in explanation_lines(explained))


def test_a_task_with_a_model_of_its_own_is_told_its_range_when_it_is_accepted() -> None:
    """It had to be asked for by a further command."""
    profile = ProfileView(seconds=(2.0,), source="model", hardware="hw", low=(1.5,), high=(2.5,))
    assert accepted_lines([TASK]) == ["task 7 (night run) accepted"]
    assert accepted_lines([TASK], profile) == [
        "task 7 (night run) accepted",
        "prediction:  2.0 s (1.5 s to 2.5 s) on 1 host (model, hw)",
    ]
    several = accepted_lines([TASK, replace(TASK, id="8")], profile)
    assert several[-1] == "prediction of 7: 2.0 s (1.5 s to 2.5 s) on 1 host (model, hw)"
