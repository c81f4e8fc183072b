from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.app.submission.admission import DomainState
from cosched.app.submission.validation import TaskValidator
from cosched.connector.values import NativeDescription
from cosched.coscheduler.elastic.values import Elastic
from cosched.errors import SystemFault, UserError
from cosched.prediction.catalogue import Catalogue
from tests.app.submission.detection import ENTRY, MODEL, add_detection
from tests.daemon.makers import Halving, LibraryChains

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.coscheduler.stages.stage import StageInChain
    from cosched.coscheduler.task import Task

NOW = 1_750_000_000.0
DOMAIN = DomainState(NOW, hosts=16)


def validator(folder: Path, entry: str = ENTRY, model: str = MODEL) -> TaskValidator:
    add_detection(folder, entry, model)
    return TaskValidator(Catalogue([folder / "applications.d"]), Halving(), "fast", chains=LibraryChains())


def request(**fields: Any) -> TaskRequest:
    return TaskRequest(**{"application": "detect", "deadline": NOW + 90, **fields})


def stage_of(task: Task) -> StageInChain:
    assert task.stage is not None
    return task.stage


def test_each_stage_is_a_task_with_what_it_is_in_every_way(tmp_path: Path) -> None:
    sample, mark, examine = validator(tmp_path).tasks(request(), DOMAIN)
    assert [stage_of(task).ways[1].quality for task in (sample, mark, examine)] == [0.9, 0.9, 0.9]
    assert [work.hosts for work in stage_of(examine).works] == [2, 4]
    assert examine.profile is not None
    assert examine.profile.seconds == (math.inf, 10.0)
    assert mark.spec.command == ("/opt/mark", "1", "2")
    assert [work.command for work in stage_of(mark).works] == [("/opt/mark", "1", "2"), ("/opt/mark", "16", "5")]
    assert sample.spec.command == ("/opt/detect", "1")
    assert mark.spec.parameters == {"images": 1.0, "hosts": 2.0, "granularity": 1.0, "distance": 2.0}
    assert (mark.spec.environment["COSCHED_STAGE"], mark.spec.environment["COSCHED_TURN"]) == ("mark", "1")
    assert mark.correction == "detect.mark/fast"


def test_each_stage_is_due_in_time_for_those_behind_it(tmp_path: Path) -> None:
    tasks = validator(tmp_path).tasks(request(deadline=NOW + 20), DOMAIN)
    assert [task.spec.deadline for task in tasks] == [NOW + 8, NOW + 10, NOW + 20]
    assert [stage_of(task).ways[1].latest for task in tasks] == [NOW + 12, NOW + 14, NOW + 20]


def test_outside_loops_the_deadlines_of_the_model_count_from_the_submission(tmp_path: Path) -> None:
    flat = MODEL.replace("task_loop (images) {", "").replace("        }\n    }\n}\n", "    }\n}\n")
    tasks = validator(tmp_path, model=flat).tasks(request(), DOMAIN)
    assert [stage_of(task).chosen.due for task in tasks] == [NOW + 30, NOW + 60, NOW + 100]
    assert [task.spec.deadline for task in tasks] == [NOW + 30, NOW + 60, NOW + 90]


def test_they_count_from_the_begin_that_the_user_asked_for(tmp_path: Path) -> None:
    flat = MODEL.replace("task_loop (images) {", "").replace("        }\n    }\n}\n", "    }\n}\n")
    tasks = validator(tmp_path, model=flat).tasks(request(begin=NOW + 3600, deadline=None), DOMAIN)
    assert [stage_of(task).chosen.due - NOW for task in tasks] == [3630, 3660, 3700]
    assert [task.spec.deadline for task in tasks] == [NOW + 3630, NOW + 3660, NOW + 3700]


def test_in_a_loop_they_count_from_each_turn(tmp_path: Path) -> None:
    tasks = validator(tmp_path).tasks(request(parameters={"images": 2}, deadline=None), DOMAIN)
    assert [stage_of(task).chosen.since for task in tasks] == [0, 0, 0, 3, 3, 3]
    assert stage_of(tasks[5]).chosen.within == 100.0
    assert [task.spec.name for task in tasks[2:4]] == ["detect.examine.1", "detect.sample.2"]
    assert [task.spec.deadline for task in tasks] == [NOW + 30, NOW + 60, NOW + 100, None, None, None]


def test_behind_other_tasks_nobody_knows_when_the_first_turn_begins(tmp_path: Path) -> None:
    tasks = validator(tmp_path).tasks(request(deadline=None, after=("7",)), DOMAIN)
    assert all(task.spec.deadline is None for task in tasks)


def test_a_control_parameter_that_is_given_leaves_its_ways(tmp_path: Path) -> None:
    tasks = validator(tmp_path).tasks(request(parameters={"granularity": 16}), DOMAIN)
    assert [way.quality for way in stage_of(tasks[0]).ways] == [0.9]


def test_no_way_is_left_of_less_quality_than_asked(tmp_path: Path) -> None:
    tasks = validator(tmp_path).tasks(request(least_quality=0.95), DOMAIN)
    assert [way.quality for way in stage_of(tasks[0]).ways] == [1.0]


def test_ways_that_differ_in_quality_alone_are_two(tmp_path: Path) -> None:
    model = MODEL.replace("({}, {hosts, 10 s}, 1.0)", "({}, {hosts, 10 s}, 1.0), ({}, {2, 6 s}, 0.8)")
    assert model != MODEL
    tasks = validator(tmp_path, model=model).tasks(request(least_quality=0.95), DOMAIN)
    assert [way.quality for way in stage_of(tasks[0]).ways] == [1.0]


def test_ways_that_need_more_hosts_than_there_are_are_left_out(tmp_path: Path) -> None:
    tasks = validator(tmp_path).tasks(request(), DomainState(NOW, hosts=3))
    assert [way.quality for way in stage_of(tasks[0]).ways] == [1.0]


def test_only_the_first_stage_waits_and_only_the_last_tells(tmp_path: Path) -> None:
    asked = request(after=("7",), begin=NOW + 5)
    tasks = validator(tmp_path).tasks(asked, DOMAIN)
    assert [task.spec.after for task in tasks] == [("7",), (), ()]
    assert [task.spec.begin for task in tasks] == [NOW + 5, None, None]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hosts": 4}, "its model says on how many hosts each stage runs and for how long: leave hosts out"),
        ({"profile": (1.0,)}, "leave run times of your own out"),
        ({"cores": "2-4"}, "leave numbers of cores or processes out"),
        ({"array_index": 3}, "leave places in an array (--array, --count, --from) out"),
        ({"elastic": ElasticRequest(worker=("/bin/true",))}, "leave workers out"),
        ({"native": NativeDescription("slurm", {})}, "leave a file of the resource manager out"),
        ({"least_quality": -1.0}, "the least quality is -1: give a number from 0 on"),
        ({"least_quality": 1.5}, "no way through detect has a quality of 1.5: the best has 1"),
        ({"parameters": {"granularity": "fine"}}, "granularity is 'fine': give a number"),
        ({"parameters": {"granularity": 5}}, "no way through detect has granularity = 5"),
        ({"parameters": {"grain": 5}}, "detect has no parameter grain"),
        ({"parameters": {"images": 100}}, "has 300 stages with these values"),
        ({"parameters": {"hosts": 8, "granularity": 16}, "application": "detect"}, ""),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    if not words:  # every way needs 16 hosts: as many as there are
        assert len(validator(tmp_path).tasks(request(**fields), DOMAIN)) == 3
        words, domain = "every way through detect needs at least 16 hosts, and it may have 8", DomainState(NOW, hosts=8)
    else:
        domain = DOMAIN
    with pytest.raises(UserError, match=re.escape(words)) as refusal:
        validator(tmp_path).tasks(request(**fields), domain)
    assert "\n" not in str(refusal.value)


def test_a_stage_without_a_command_is_named(tmp_path: Path) -> None:
    entry = ENTRY.replace('command = ["/opt/detect", "{{images}}"]\n', "")
    with pytest.raises(UserError, match=r"what the stage sample of detect runs: .* adds \[stages.sample\]"):
        validator(tmp_path, entry).tasks(request(), DOMAIN)


def test_a_stage_that_the_model_lacks_is_named(tmp_path: Path) -> None:
    """What the entry said of it was ignored, and the stage that was meant ran the application's own command."""
    with pytest.raises(UserError, match=r"has \[stages.makr\], and detect has no task makr: did you mean mark\?"):
        validator(tmp_path, ENTRY.replace("[stages.mark]", "[stages.makr]")).tasks(request(), DOMAIN)


def test_a_placeholder_without_a_value_is_named(tmp_path: Path) -> None:
    entry = ENTRY.replace("{{distance}}", "{{range}}")
    with pytest.raises(UserError, match=r"the stage mark of detect uses \{range\}, which is neither"):
        validator(tmp_path, entry).tasks(request(), DOMAIN)


def test_before_the_hosts_are_known_no_way_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SystemFault, match="try again in a moment"):
        validator(tmp_path).tasks(request(), DomainState(NOW, hosts=0))


def test_a_quality_of_what_is_not_tunable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a least quality is for tunable applications"):
        validator(tmp_path).tasks(TaskRequest(command=("/bin/true",), least_quality=0.5), DOMAIN)


ONE_PROGRAM = """
model = "{model}"
command = ["/opt/detect", "{{images}}"]
worker = ["/opt/detect", "--images", "{{images}}", "--lead", "{{lead}}", "{{worker}}"]
[parameters.images]
default = 1
[parameters.hosts]
default = 2
"""


def test_one_program_with_workers_stays_through_all_stages(tmp_path: Path) -> None:
    tasks = validator(tmp_path, ONE_PROGRAM).tasks(request(), DOMAIN)
    worker = ("/opt/detect", "--images", "1", "--lead", "{lead}", "{worker}")
    assert {task.spec.elastic for task in tasks} == {Elastic(worker, needs_lead=True, whole_chain=True)}
    assert {task.spec.command for task in tasks} == {("/opt/detect", "1")}
    assert [task.spec.environment["COSCHED_STAGE"] for task in tasks] == ["sample", "mark", "examine"]


@pytest.mark.parametrize(
    ("domain", "why"),
    [
        (replace(DOMAIN, shares_hosts=True), "tasks share hosts here"),
        (replace(DOMAIN, carries_mail=False), "jobs here cannot speak with cosched"),
    ],
)
def test_such_a_program_is_refused_where_no_lead_can_have_workers(
    tmp_path: Path, domain: DomainState, why: str
) -> None:
    with pytest.raises(UserError, match=f"one program with workers through all of its stages, and {why}"):
        validator(tmp_path, ONE_PROGRAM).tasks(request(), domain)


def test_a_command_beside_a_tunable_application_is_refused_as_beside_any(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give an application or a command, not both"):
        validator(tmp_path).tasks(request(command=("/bin/true",)), DOMAIN)
