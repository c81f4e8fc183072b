from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import ProfileView, ShapeFigure, TaskRequest
from cosched.app.submission.admission import DomainState
from cosched.app.submission.run_history import RunHistory
from cosched.app.submission.validation import TaskValidator
from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.changes import Changes, RunRecord
from cosched.coscheduler.task import TaskSpec
from cosched.errors import UserError
from cosched.prediction.catalogue import Catalogue
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store.runs import RunTable
from tests.daemon.makers import Halving

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.daemon.makers import Daemon

ANN, BOB = Principal("ann", Role.USER), Principal("bob", Role.USER)
HEAT = TaskRequest(command=("/opt/heat", "1000"))


def ran(
    here: Daemon, seconds: Iterable[float], size: str = "1000", hosts: int = 1, stated: float | None = None
) -> None:
    """Have the store know of earlier runs of ann's."""
    features = TaskSpec("heat", "heat", ("/opt/heat", size)).features("ann")
    here.store.commit(
        Changes(
            runs=tuple(
                RunRecord("", features.key, features.numbers, "ann", "heat", hosts, "", None, each, 1.0, "", stated)
                for each in seconds
            )
        )
    )


def predicted(here: Daemon, request: TaskRequest = HEAT, user: Principal = ANN) -> ProfileView | None:
    (forecast,) = here.services.submissions.foresee(user, [request])
    return forecast.profile


def test_a_command_with_a_hash_is_none_with_a_number(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8), "5")
    assert predicted(here, TaskRequest(command=("/opt/heat", "5"))) is not None
    assert predicted(here, TaskRequest(command=("/opt/heat", "#"))) is None


def test_a_command_that_ran_three_times_passes_through_no_longer(here: Daemon) -> None:
    ran(here, (20.0, 20.4))
    assert predicted(here) is None
    assert here.services.submissions.foresee(ANN, [HEAT])[0].more_runs == 1
    ran(here, (19.8,))
    assert here.services.submissions.foresee(ANN, [HEAT])[0].more_runs == 0
    (task,) = here.services.submissions.submit(ANN, [HEAT], "", "")
    detail = here.services.tasks.task(ANN, task.id)
    assert detail.profile is not None
    assert (detail.profile.source, detail.profile.runs) == ("history", 3)
    assert list(detail.profile.seconds) == [pytest.approx(20.0, rel=0.03)]
    assert detail.profile.high is not None
    (again,) = here.services.submissions.submit(ANN, [replace(HEAT, deadline="now+1s")], "", "")
    assert again.notice == ""  # accepted: what other runs took refuses nothing


def test_a_users_figures_are_corrected_by_what_was_run(here: Daemon) -> None:
    asked = replace(HEAT, profile=(4.0, 2.0))
    for hosts, seconds, stated in ((1, 2.0, 4.0), (2, 4.0, 2.0)):
        ran(here, (seconds,) * 3, hosts=hosts, stated=stated)
    (task,) = here.services.submissions.submit(ANN, [asked], "", "")
    profile = here.services.tasks.task(ANN, task.id).profile
    assert profile is not None
    assert (profile.source, profile.runs, profile.stated) == ("user", 6, (4.0, 2.0))
    assert list(profile.seconds) == [pytest.approx(2.0, rel=0.1), pytest.approx(4.0, rel=0.1)]
    again = here.services.submissions.foresee(BOB, [asked])[0].profile
    assert again is not None
    assert again.seconds == (4.0, 2.0)  # another's runs tell nothing of bob's


def test_earlier_runs_of_the_same_with_the_same_numbers_are_told(here: Daemon) -> None:
    ran(here, (20.0,), hosts=2)
    ran(here, (31.0,), size="99")
    ran(here, (18.5,))
    (forecast,) = here.services.submissions.foresee(ANN, [HEAT])
    assert [(run.hosts, run.seconds) for run in forecast.same] == [(2, 20.0), (1, 18.5)]
    assert here.services.submissions.foresee(BOB, [HEAT])[0].same == ()


def _validator(here: Daemon, explore: float) -> TaskValidator:
    return TaskValidator(Catalogue([]), Halving(), "fast", history=RunHistory(RunTable(here.store), explore=explore))


def _taken_in(validator: TaskValidator, request: TaskRequest) -> Profile:
    task = replace(validator.task(request, DomainState(0.0, 16), ANN.name), owner=ANN.name)
    profile = validator.exploring(task).profile
    assert profile is not None
    return profile


def _others_ran(here: Daemon, *, stated: bool) -> None:
    """Have the store know of programs of bob's that take half as long on two hosts, as he had said."""
    runs = [
        RunRecord("", f"p{number}", (), "bob", "", hosts, "", None, off * seconds, 1.0, "", seconds if stated else None)
        for number in range(6)
        for hosts in (1, 2)
        for off in (0.96, 1.04)
        for seconds in [(9.0 + number) / hosts]
    ]
    here.store.commit(Changes(runs=tuple(runs)))


@pytest.mark.parametrize("others", [False, True])
def test_a_program_that_two_hosts_slow_down_is_found_out_by_trying_one(here: Daemon, others: bool) -> None:
    said, actual = (4.0, 2.0), (2.0, 4.0)
    if others:
        _others_ran(here, stated=True)
    validator, asked = _validator(here, 0.25), replace(HEAT, profile=said)
    tried = []
    for _ in range(24):
        count = _taken_in(validator, asked).best_count
        ran(here, (actual[count - 1],), hosts=count, stated=said[count - 1])
        tried.append(count)
    assert tried[:6] == [2] * 6  # first nothing is known, then each fourth task may try
    assert set(tried[20:]) == {1}
    found = _taken_in(validator, asked)
    assert found.seconds == pytest.approx((2.0, 4.0), rel=0.1)


def test_nothing_is_tried_where_it_may_cost_the_deadline(here: Daemon) -> None:
    validator, asked = _validator(here, 1.0), replace(HEAT, profile=(4.0, 2.0))
    ran(here, (4.0,) * 4, hosts=2, stated=2.0)
    tries = {
        deadline: _taken_in(validator, replace(asked, deadline=deadline)).explores
        for deadline in (None, "1970-01-01T01:00:00+00:00", "1970-01-01T00:00:25+00:00")
    }
    assert list(tries.values()) == [True, True, False]
    assert not _taken_in(_validator(here, 0.0), asked).explores


def test_a_model_is_corrected_where_the_manager_names_no_classes(here: Daemon) -> None:
    asked = TaskRequest(application="halving", parameters={"work": 40.0}, hosts=1)
    (task,) = here.services.submissions.submit(ANN, [asked], "", "")
    detail = here.services.tasks.task(ANN, task.id)
    assert detail.profile is not None
    said = detail.profile.seconds[0]
    assert said is not None
    features = TaskSpec("halving", "halving", detail.command, launch=LaunchMode(detail.launch)).features("ann")
    run = RunRecord("", features.key, features.numbers, "ann", "halving", 1, "", None, 1.6 * said, 1.0, "", said)
    here.store.commit(Changes(runs=(run,) * 3))
    corrected = predicted(here, asked)
    assert corrected is not None
    assert corrected.seconds[0] == pytest.approx(1.6 * said, rel=0.05)
    assert corrected.high is not None
    assert corrected.high[0] is not None
    assert corrected.high[0] < 1.3 * 1.6 * said
    assert (corrected.source, corrected.hardware) == (detail.profile.source, detail.profile.hardware)


def test_the_first_run_of_a_model_has_the_start_up_of_other_programs(here: Daemon) -> None:
    asked = TaskRequest(application="halving", parameters={"work": 4.0}, hosts=1)
    before = predicted(here, asked)
    run = RunRecord("", "", (), "bob", "", 1, "", None, 2.5, 1.0, "", 0.5, launch="each")  # of other programs
    here.store.commit(Changes(runs=tuple([replace(run, key=f"program {number}") for number in range(3)])))
    after = predicted(here, asked)
    assert before is not None
    assert after is not None
    assert before.seconds[0] is not None
    assert after.seconds[0] == pytest.approx(before.seconds[0] + 2.0, rel=0.05)
    own = predicted(here, replace(HEAT, profile=(4.0,)))
    assert own is not None
    assert own.seconds[0] == 4.0  # what a user says is of the whole run


def test_a_program_on_hosts_that_it_never_had_has_a_range_by_how_others_fall(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8, 20.1), hosts=1)
    asked = replace(HEAT, hosts="1-2")
    before = predicted(here, asked)
    _others_ran(here, stated=False)
    ran(here, (20.0,), hosts=1)
    after = predicted(here, asked)
    widths = []
    for found in (before, after):
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low[1] is not None
        assert found.high[1] is not None
        widths.append(found.high[1] / found.low[1])
    assert widths[1] < 0.6 * widths[0]
    assert after is not None
    assert after.seconds[1] == pytest.approx(10.0, rel=0.1)


def test_runs_refuse_no_deadline_that_the_model_would_meet(here: Daemon) -> None:
    ran(here, (60.0,) * 4, stated=30.0)
    (task,) = here.services.submissions.submit(ANN, [replace(HEAT, profile=(30.0,), deadline="now+40s")], "", "")
    profile = here.services.tasks.task(ANN, task.id).profile
    assert profile is not None
    assert profile.seconds[0] == pytest.approx(60.0, rel=0.1)
    with pytest.raises(UserError, match="the shortest prediction is"):
        here.services.submissions.submit(ANN, [replace(HEAT, profile=(30.0,), deadline="now+20s")], "", "")


def test_tries_of_less_than_a_second_have_no_later_deadline_refused(here: Daemon) -> None:
    """Tries that took 0.3 s in the place of 0.2 s once raised 50 s to 63 s, and a deadline in 60 s was refused."""
    ran(here, (0.42,) * 8, size="10", stated=0.33)  # 1.27 times as long as was said
    (task,) = here.services.submissions.submit(ANN, [replace(HEAT, profile=(50.0,), deadline="now+55s")], "", "")
    profile = here.services.tasks.task(ANN, task.id).profile
    assert profile is not None
    assert profile.stated == (50.0,)
    assert list(profile.seconds) == [pytest.approx(50.0, rel=0.15)]


def test_it_learns_from_each_run(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8))
    before = predicted(here)
    ran(here, (40.0,) * 4, size="2000")
    after = predicted(here, TaskRequest(command=("/opt/heat", "2000")))
    assert before is not None
    assert after is not None
    assert after.runs == 7
    assert after.seconds[0] == pytest.approx(40.0, rel=0.05)


def test_a_files_size_tells_how_long_it_takes_whatever_its_name(here: Daemon) -> None:
    def solve(name: str, size: int) -> TaskRequest:
        return TaskRequest(command=("/opt/solve", name), file_sizes={name: size})

    for name, size in (("a.dat", 1000), ("b.dat", 2000), ("c.dat", 4000)):
        spec = TaskSpec("solve", "solve", ("/opt/solve", name), file_sizes={name: size})
        features = spec.features("ann")
        run = RunRecord("", features.key, features.numbers, "ann", "solve", 1, "", None, size / 100, 1.0, "old")
        here.store.commit(Changes(runs=(run,)))
    found = predicted(here, solve("z.dat", 3000))
    assert found is not None
    assert found.seconds[0] == pytest.approx(30.0, rel=0.2)
    highs: list[float | None] = []
    for digest in ("old", "new"):
        usual = predicted(here, replace(solve("z.dat", 3000), program_digest=digest))
        assert usual is not None
        highs += usual.high or ()
    old, new = highs
    assert old is not None
    assert new is not None
    assert new > old


def test_others_runs_and_other_programs_tell_nothing(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8))
    assert predicted(here, user=BOB) is None
    assert predicted(here, TaskRequest(command=("/opt/cold", "1000"))) is None
    assert predicted(here, replace(HEAT, directory="/elsewhere")) is None


def test_a_command_keeps_its_number_of_hosts_unless_a_range_is_asked_for(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8))
    ran(here, (11.0, 10.6), hosts=2)
    alone, some = predicted(here), predicted(here, replace(HEAT, hosts="1-16"))
    assert alone is not None
    assert some is not None
    assert len(alone.seconds) == 1
    assert len(some.seconds) == 4  # twice the largest number that a run had
    assert some.seconds[0] == pytest.approx(20.0, rel=0.05)
    assert some.seconds[1] == pytest.approx(10.8, rel=0.05)
    assert predicted(here, replace(HEAT, hosts="8")) is None


def test_the_users_own_figures_stand(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8))
    found = predicted(here, replace(HEAT, profile=(5.0,)))
    assert found is not None
    assert (found.source, found.seconds) == ("user", (5.0,))


def test_runs_are_shown_to_their_owner_and_forgotten_at_his_word(here: Daemon) -> None:
    ran(here, (20.0, 20.4, 19.8))
    history = here.services.history
    assert [run.seconds for run in history.learnt_runs(ANN, "heat", 2)] == [19.8, 20.4]
    assert history.learnt_runs(BOB, "heat", 10) == []
    history.forget_runs(BOB, "heat")
    assert predicted(here) is not None
    history.forget_runs(ANN, "heat")
    assert predicted(here) is None


@pytest.mark.parametrize("stated", [None, 20.0])
def test_runs_that_come_one_by_one_teach_as_much_as_all_at_once(here: Daemon, stated: float | None) -> None:
    features = TaskSpec("heat", "heat", ("/opt/heat", "1000")).features("ann")
    profile = Profile((20.0,), PredictionSource.USER, "") if stated else None
    kept = RunHistory(RunTable(here.store))

    def told(history: RunHistory) -> Profile:
        found = history.corrected(features, profile, []) if profile else history.profile(features, range(1, 2), [])
        assert found is not None
        return found

    for number in range(30):
        ran(here, (25.0 + number % 3,), stated=stated)
        if number >= 3:
            told(kept)
    for seconds in (26.0, 60.0, 61.0, 60.5):  # as before, then longer: all is learnt anew
        ran(here, (seconds,), stated=stated)
        found, anew = told(kept), told(RunHistory(RunTable(here.store)))
        assert found.runs == anew.runs
        assert found.seconds == pytest.approx(anew.seconds, rel=0.02)
    assert found.seconds[0] > 55


def test_ranges_are_wider_where_those_of_earlier_runs_did_not_hold(here: Daemon) -> None:
    ran(here, (20.0, 21.0, 20.5, 19.5))
    before = predicted(here)
    runs = RunTable(here.store).of(TaskSpec("heat", "heat", ("/opt/heat", "1000")).features("ann").key, 4)
    other = [replace(run, key="other", low=1.0, high=2.0) for run in runs]  # of another program: too narrow
    here.store.commit(Changes(runs=tuple(other * 5)))
    fresh = RunHistory(RunTable(here.store)).profile(
        TaskSpec("heat", "heat", ("/opt/heat", "1000")).features("ann"), range(1, 2), []
    )
    assert fresh is not None
    assert before is not None
    assert fresh.seconds[0] == before.seconds[0]
    assert fresh.high is not None
    assert before.high is not None
    assert before.high[0] is not None
    widths = [math.log(high / fresh.seconds[0]) for high in (before.high[0], fresh.high[0])]
    assert widths[1] / widths[0] == pytest.approx(math.exp(20 * 0.05 * 0.9), rel=0.01)


def test_what_runs_correct_is_of_the_classes_of_hosts_that_are_there(here: Daemon) -> None:
    features = TaskSpec("heat", "heat", ("/opt/heat", "1000")).features("ann")
    seconds = [("slow", 40.0 + number % 2) for number in range(4)] + [
        ("fast", 10.0 + number % 2) for number in range(4)
    ]
    here.store.commit(
        Changes(
            runs=tuple(
                RunRecord("", features.key, features.numbers, "ann", "heat", 1, name, None, each, 1.0, "", 20.0)
                for name, each in seconds
            )
        )
    )
    history, said = RunHistory(RunTable(here.store), look=60.0), Profile((20.0,), PredictionSource.USER)
    fast, both = (history.corrected(features, said, classes).seconds[0] for classes in (["fast"], ["fast", "slow"]))
    assert fast < 15
    assert both > 30  # the slowest class decides


def test_a_dry_run_shows_the_nearest_runs_and_what_was_not_seen(here: Daemon) -> None:
    for size in ("1000", "2000", "4000"):
        ran(here, (int(size) / 100,) * 2, size, hosts=2)
    (forecast,) = here.services.submissions.foresee(ANN, [TaskRequest(command=("/opt/heat", "5000"), hosts="1-4")])
    evidence = forecast.evidence
    assert evidence is not None
    assert [(run.numbers, run.hosts, run.seconds) for run in evidence.nearest] == [
        ((4000.0,), 2, 40.0),
        ((4000.0,), 2, 40.0),
        ((2000.0,), 2, 20.0),
    ]
    assert evidence.beyond == ("5000 is more than all runs had (1000 to 4000)",)
    assert evidence.untried == (1, 3, 4)
    (inside,) = here.services.submissions.foresee(ANN, [TaskRequest(command=("/opt/heat", "1500"))])
    assert inside.evidence is not None
    assert inside.evidence.beyond == ()
    assert here.services.submissions.foresee(BOB, [HEAT])[0].evidence is None


def test_a_dry_run_shows_the_shape_that_the_task_gets(here: Daemon) -> None:
    """Each look took the turn of a task: the dry run said 4 cores, and the task had 16."""
    request = replace(HEAT, cores="4-16")
    for _ in range(3):
        (shown,) = here.services.submissions.foresee(ANN, [request])
        (task,) = here.services.submissions.submit(ANN, [request], "", "")
        assert shown.cores == here.services.tasks.task(ANN, task.id).cores


def test_runs_with_several_numbers_of_cores_tell_the_time_with_each(here: Daemon) -> None:
    validator, domain = _validator(here, 0.0), DomainState(0.0, 4)
    request = replace(HEAT, cores="4-16")
    tried = [validator.task(request, domain, "ann").spec for _ in range(3)]
    assert [spec.cores for spec in tried] == [4, 16, 8]  # the smallest, the largest, and between
    for spec in tried:
        features = spec.features("ann")
        run = RunRecord("", features.key, features.numbers, "ann", "heat", 1, "", None, 400.0 / spec.cores, 1.0)
        here.store.commit(Changes(runs=(run,)))
    found = validator.task(request, domain, "ann")
    assert [each.cores for each in found.alternatives] == [4, 6, 8, 12, 16]
    for each in found.alternatives:
        assert each.profile.seconds[0] == pytest.approx(400.0 / each.cores, rel=0.1)
        assert each.profile.source is PredictionSource.HISTORY
    assert validator.exploring(replace(found, owner="ann")).alternatives == found.alternatives
    assert _validator(here, 0.0).task(HEAT, domain, "ann").profile is None  # of one shape no run is known


def test_a_users_figures_for_shapes_are_corrected_by_what_was_run_with_each(here: Daemon) -> None:
    validator, domain = _validator(here, 0.0), DomainState(0.0, 4)
    figures = tuple(ShapeFigure(cores=cores, seconds=400.0 / cores) for cores in (4, 8, 16))
    request = replace(HEAT, shapes=figures)
    for cores in (4, 8, 16, 4, 16):  # twice as long as said, and on 16 cores no quicker than on 8
        features = replace(validator.task(request, domain, "ann").spec, cores=cores).features("ann")
        seconds = 800.0 / min(cores, 8)
        run = RunRecord("", features.key, features.numbers, "ann", "heat", 1, "", None, seconds, 1.0, "", 400.0 / cores)
        here.store.commit(Changes(runs=(run,)))
    found = {each.cores: each.profile.seconds[0] for each in validator.task(request, domain, "ann").alternatives}
    assert found[4] == pytest.approx(200.0, rel=0.1)
    assert found[8] == pytest.approx(100.0, rel=0.2)
    assert found.get(16, 100.0) > 80.0
