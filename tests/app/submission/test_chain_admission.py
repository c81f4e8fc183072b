from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import TaskChange, TaskRequest
from cosched.app.submission.similar_requests import request_like_task
from cosched.errors import UserError
from cosched.store import TaskSelection
from tests.app.submission.detection import add_detection
from tests.daemon.makers import Daemon, StillClock, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ME = Principal("me", Role.USER)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Daemon]:
    add_detection(tmp_path)
    with daemon(tmp_path, hosts=4, clock=StillClock()) as running:
        yield running


def request(**fields: Any) -> TaskRequest:
    return TaskRequest(**{"application": "detect", "directory": "/tmp", **fields})


def occupy(here: Daemon, seconds: float) -> None:
    """Have a task on all hosts."""
    busy = TaskRequest(command=("/bin/true",), profile=(None, None, None, seconds), deadline="now+1h")
    here.services.submissions.submit(ME, [busy], "", "")


def test_stages_are_accepted_together_and_what_is_guaranteed_is_told(here: Daemon) -> None:
    made = here.services.submissions.submit(ME, [request(deadline="now+1m")], "", "")
    assert [(task.id, task.name) for task in made] == [
        ("1", "detect.sample.1"),
        ("2", "detect.mark.1"),
        ("3", "detect.examine.1"),
    ]
    assert made[0].notice == (
        "stage 1 of 3 of detect, with a quality of 1: granularity=1, distance=2, sample.1 on 2 hosts, mark.1 on 1 "
        "host, examine.1 on 2 hosts; its deadlines are guaranteed with a quality of at least 0.9"
    )
    assert [task.notice for task in made[1:]] == ["", ""]
    third = here.store.task("3")
    assert third is not None
    assert third.spec.after == ("2",)
    assert third.spec.environment["COSCHED_CHAIN"] == "1"
    assert third.stage is not None
    assert third.stage.guaranteed


def test_many_tunable_tasks_at_once_do_not_keep_the_core_from_others(here: Daemon) -> None:
    many = [request(parameters={"images": 33}, deadline="now+1h")] * 200
    with pytest.raises(UserError, match=r"task \d+ of 200: the ways .* more than 10000 stages together.*none was"):
        here.services.submissions.submit(ME, many, "", "")
    with pytest.raises(UserError, match="more than 10000 stages together"):
        here.services.submissions.foresee(ME, many[:100])
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 0


def test_tunable_tasks_are_known_to_take_long_to_predict(here: Daemon) -> None:
    takes_long = here.services.submissions.takes_long
    assert takes_long([TaskRequest(command=("/bin/true",)), request()])
    assert not takes_long([TaskRequest(command=("/bin/true",)), TaskRequest(application="halving")])


def test_a_submission_that_nobody_waits_for_is_accepted_by_nobody(here: Daemon) -> None:
    def gone() -> None:
        raise UserError("nobody waits")

    with pytest.raises(UserError, match="nobody waits"):
        here.services.submissions.submit(ME, [request()], "key", "digest", gone)
    assert here.services.tasks.tasks(ME, TaskSelection(), 10, 0).total == 0
    assert len(here.services.submissions.submit(ME, [request()], "key", "digest")) == 3


def test_a_deadline_that_cannot_be_guaranteed_is_answered_with_those_that_can(here: Daemon) -> None:
    here.services.submissions.submit(ME, [request(deadline="now+17s")], "", "")
    with pytest.raises(UserError, match="cannot be guaranteed beside what is planned: the earliest that can be") as no:
        here.services.submissions.submit(ME, [request(deadline="now+8s")], "", "")
    earliest = re.findall(r"(\S+ \S+) with a quality of ([\d.]+)", str(no.value))
    assert {quality for _, quality in earliest} <= {"1", "0.9"}
    assert earliest
    assert len(here.services.submissions.submit(ME, [request(deadline=f"{earliest[-1][0]}")], "", "")) == 3


def test_a_stage_that_its_model_wants_sooner_is_named(here: Daemon) -> None:
    occupy(here, 40.0)
    with pytest.raises(UserError, match=r"the stage sample.1 would end 1\d s after the deadline that its model gives"):
        here.services.submissions.submit(ME, [request()], "", "")


def test_what_nobody_wants_by_a_time_waits_for_a_chain(here: Daemon) -> None:
    undated = TaskRequest(command=("/bin/true",), profile=(None, None, None, 40.0))
    here.services.submissions.submit(ME, [undated], "", "")
    made = here.services.submissions.submit(ME, [request()], "", "")
    chain = here.services.tasks.explain(ME, made[-1].id).chain
    assert chain is not None
    assert chain.ways[0].late == 0.0


def test_as_best_effort_it_is_accepted_late(here: Daemon) -> None:
    made = here.services.submissions.submit(ME, [request(deadline="now+2s", best_effort=True)], "", "")
    assert "its deadlines are not guaranteed" in made[0].notice


def test_several_are_refused_where_they_are_not_in_time_together(here: Daemon) -> None:
    wanted = request(deadline="now+17s")
    assert len(here.services.submissions.submit(ME, [wanted, wanted], "", "")) == 6
    with pytest.raises(UserError, match="cannot be guaranteed"):
        here.services.submissions.submit(ME, [request(deadline="now+40s")] * 3 + [wanted], "", "")
    assert here.store.task("7") is None


def test_a_dry_run_shows_all_ways_and_stores_nothing(here: Daemon) -> None:
    (forecast,) = here.services.submissions.foresee(ME, [request(deadline="now+1m")])
    assert [(way.quality, way.chosen, way.control["granularity"]) for way in forecast.ways] == [
        (1.0, True, 1.0),
        (0.9, False, 16.0),
    ]
    assert [stage.hosts for stage in forecast.ways[1].stages] == [2, 1, 4]
    assert forecast.meets_deadline
    assert here.store.task("1") is None


def test_the_explanation_has_the_ways_with_their_ends(here: Daemon) -> None:
    occupy(here, 10.0)
    here.services.submissions.submit(ME, [request(deadline="now+1m")], "", "")
    chain = here.services.tasks.explain(ME, "4").chain
    assert chain is not None
    assert (chain.tasks, chain.guaranteed, chain.quality, chain.least_quality) == (("2", "3", "4"), True, 1.0, 0.9)
    fine, coarse = chain.ways
    assert (fine.chosen, coarse.chosen, coarse.open) == (True, False, True)
    assert fine.end is not None
    assert coarse.end is not None
    assert fine.end - coarse.end == pytest.approx(16.0 - 9.0, abs=0.1)
    detail = here.services.tasks.task(ME, "3").chain
    assert detail is not None
    assert detail.index == 1


def test_nothing_is_guaranteed_of_a_chain_that_was_cancelled(here: Daemon) -> None:
    here.services.submissions.submit(ME, [request(deadline="now+1m")], "", "")
    here.services.tasks.cancel(ME, "2")
    chain = here.services.tasks.task(ME, "3").chain
    assert chain is not None
    assert not chain.guaranteed


def test_submitted_again_it_is_the_whole_application(here: Daemon) -> None:
    here.services.submissions.submit(ME, [request(deadline="now+1m", parameters={"hosts": 1})], "", "")
    detail = here.services.tasks.task(ME, "3")
    again = request_like_task(detail, detail.submitted, catalogued=True)
    assert (again.parameters, again.name, again.environment) == ({"images": 1.0, "hosts": 1.0}, "detect", {})
    assert again.deadline == pytest.approx(detail.submitted + 60, abs=1)
    assert len(here.services.submissions.submit(ME, [again], "", "")) == 3


def test_a_stage_cannot_be_changed_by_itself(here: Daemon) -> None:
    here.services.submissions.submit(ME, [request()], "", "")
    with pytest.raises(UserError, match="is a stage of detect, whose times were planned together: cancel it"):
        here.services.tasks.hold(ME, "2")


def test_an_edit_of_a_stages_hosts_says_what_its_model_lets_its_user_choose(here: Daemon) -> None:
    here.services.submissions.submit(ME, [request()], "", "")
    with pytest.raises(UserError, match=r"a stage of detect, whose model gives its hosts.*--set values, or --least"):
        here.services.tasks.edit(ME, "2", TaskChange(hosts="1"))
