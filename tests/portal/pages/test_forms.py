from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from cosched.api.documents import AlternativeView, ElasticRequest, ProfileView, ShapeFigure, TaskChange, TaskRequest
from cosched.app.submission.similar_requests import request_like_task
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.errors import UserError
from cosched.portal.pages.forms import (
    COPIED,
    fields_like_task,
    local_minute,
    read_change,
    read_profile,
    read_request,
    requests_of_form,
    requests_of_upload,
    resubmit_request,
)
from tests.documents import NOW, detail, profile

BERLIN = ZoneInfo("Europe/Berlin")


def test_fields_become_a_request() -> None:
    fields = {
        "application": "jacobi",
        "p.Scale": "2",
        "p.empty": "",
        "begin": "2030-01-31T12:00",
        "deadline": "2030-01-31T18:00",
        "hosts": "2 – 8",
        "name": " night ",
        "best_effort": "on",
        "time_limit": "2h",
        "csrf_token": "x",
    }
    assert read_request(fields, BERLIN) == TaskRequest(
        application="jacobi",
        parameters={"Scale": "2"},
        deadline=1896109200.0,
        begin=1896109200.0 - 6 * 3600,
        hosts="2-8",
        name="night",
        best_effort=True,
        time_limit="2h",
    )


def test_a_command_is_one_argument_a_line() -> None:
    request = read_request({"command": "/bin/sh\r\n-c\r\necho a b\r\n\r\n", "profile": "50, ,30"}, None)
    assert request.command == ("/bin/sh", "-c", "echo a b")
    assert request.profile == (50.0, None, 30.0)
    assert request.deadline is None


def test_a_worker_makes_it_elastic_and_is_submitted_again() -> None:
    fields = {"command": "/bin/master", "worker": "/bin/worker\r\n{lead}\r\n", "grace": "2m"}
    assert read_request(fields, None).elastic == ElasticRequest(worker=("/bin/worker", "{lead}"), grace="2m")
    assert read_request({"command": "/bin/master", "worker": " "}, None).elastic == ElasticRequest(worker=(" ",))
    assert read_request({"command": "/bin/master", "worker": "\n"}, None).elastic is None
    with pytest.raises(UserError, match="give their worker's command"):
        read_request({"command": "/bin/master", "grace": "2m"}, None)
    task = detail(command=("/bin/master",), elastic=ElasticRequest(worker=("/bin/worker", "{lead}"), grace=120.0))
    again = fields_like_task(task, NOW, None, catalogued=False)
    assert (again["worker"], again["grace"]) == ("/bin/worker\n{lead}", "120s")


def test_a_program_that_checkpoints_is_elastic_and_is_submitted_again() -> None:
    fields = {"command": "/bin/model", "restart": "on", "worker": "", "grace": "2m", "restart_cost": "3m"}
    asked = ElasticRequest(kind="restart", grace="2m", cost="3m")
    assert read_request(fields, None).elastic == asked
    assert read_request({**fields, "force_stop": "on"}, None).elastic == replace(asked, force=True)
    for alone in ({"restart_cost": "3m"}, {"force_stop": "on"}):
        with pytest.raises(UserError, match="tick that it does"):
            read_request({"command": "/bin/model", **alone}, None)
    task = detail(command=("/bin/model",), elastic=replace(asked, grace=120.0, cost=180.0, force=True))
    again = fields_like_task(task, NOW, None, catalogued=False)
    assert read_request(again, None).elastic == replace(asked, grace="120s", cost="180s", force=True)


def test_a_copied_command_is_the_same_whatever_its_arguments_hold() -> None:
    """Arguments of several lines became several, and empty ones none: a clone ran another program, unnoticed."""
    command = ("/bin/sh", "-c", "echo one\necho two\r\n", "", "a\x0cb\u2028c", "last")
    variables = {"SCRIPT": "a\nHOME=/b", "PLAIN": "x"}
    elastic = ElasticRequest(worker=("/bin/worker", "", "{lead}"), grace=30.0)
    task = detail(command=command, environment=variables, prepare=("/bin/a\n/bin/b",), elastic=elastic)
    copy = fields_like_task(task, NOW, None, catalogued=False)
    assert copy["command"] == "/bin/sh\n-c\necho one\necho two\n\n\na\x0cb\u2028c\nlast"
    again = read_request(copy, None)
    assert (again.command, again.environment, again.prepare) == (command, variables, ("/bin/a\n/bin/b",))
    assert again.elastic == replace(elastic, grace="30s")
    with pytest.raises(UserError, match="the command was copied from a task"):
        read_request({**copy, "command": copy["command"].replace("two", "three")}, None)
    assert read_request({**copy, "environment": ""}, None).environment == {}
    for wrong in ("{", "[]", '{"command": "x"}', '{"command": [1]}', "[" * 100_000):
        with pytest.raises(UserError, match="open it anew"):
            read_request({**copy, COPIED: wrong}, None)
    plain = fields_like_task(detail(command=("/bin/echo", "a b")), NOW, None, catalogued=False)
    assert COPIED not in plain
    assert read_request({**plain, "command": "/bin/echo\r\nc"}, None).command == ("/bin/echo", "c")


def test_run_times_are_numbers_between_commas() -> None:
    assert read_profile(" 50,40\n - ,30") == (50.0, 40.0, None, 30.0)
    assert read_profile("  ") is None
    with pytest.raises(UserError, match="are not numbers"):
        read_profile("50;40")


def test_the_fields_of_a_task_submit_it_again_with_as_much_time_as_it_had() -> None:
    task = detail(
        application="jacobi",
        parameters={"Scale": 0.5, "mode": "fast"},
        submitted=NOW - 500,
        deadline=NOW - 400,
        name="night",
        time_limit=60.0,
    )
    again = read_request(fields_like_task(task, NOW, BERLIN, catalogued=True), BERLIN)
    assert again == TaskRequest(
        application="jacobi",
        parameters={"Scale": "0.5", "mode": "fast"},
        deadline=NOW + 100,
        name="night",
        time_limit="60",
    )


@pytest.mark.parametrize(
    ("seconds", "source", "hosts"),
    [
        ((None, None, 2.0), "model", "3"),
        ((4.0,), "model", "1"),
        ((4.0, 2.0), "model", None),
        ((None, 4.0, 2.0), "history", "2-3"),
    ],
)
def test_the_number_of_hosts_that_its_user_allowed_is_cloned(
    seconds: tuple[float | None, ...], source: str, hosts: str | None
) -> None:
    task = detail(application="jacobi", profile=profile(seconds, source))
    assert read_request(fields_like_task(task, NOW, None, catalogued=True), None).hosts == hosts


@pytest.mark.parametrize("found", [None, profile((None, 4.0, 2.0), "model"), profile((None, 4.0, None), "history")])
def test_the_range_of_hosts_that_its_user_asked_for_is_cloned(found: ProfileView | None) -> None:
    task = detail(application="jacobi", profile=found, hosts_range="2-3")
    assert read_request(fields_like_task(task, NOW, None, catalogued=True), None).hosts == "2-3"


def test_a_command_keeps_what_was_predicted_for_it() -> None:
    task = detail(command=("/bin/x", "a b"), profile=profile((4.0, None, 2.0)), best_effort=True, directory="/tmp")
    again = read_request(fields_like_task(task, NOW, None, catalogued=False), None)
    assert again == TaskRequest(
        command=("/bin/x", "a b"), profile=(4.0, None, 2.0), best_effort=True, directory="/tmp", name="night"
    )


def test_how_a_task_is_launched_is_submitted_again() -> None:
    task = detail(command=("/bin/x",), launch=LaunchMode.ONCE, processes_per_host=2)
    again = read_request(fields_like_task(task, NOW, None, catalogued=False), None)
    assert (again.launch, again.processes_per_host) == (LaunchMode.ONCE, 2)


def test_a_task_with_several_shapes_is_cloned_with_them() -> None:
    shapes = [
        AlternativeView(cores=cores, memory=0, gpus=0, processes_per_host=1, profile=profile(seconds))
        for cores, seconds in ((4, (60.0, None)), (8, (33.0, 18.0)))
    ]
    task = detail(
        command=("/bin/x",), profile=profile((33.0, 18.0)), cores=4, cores_range="4-8", alternatives=tuple(shapes)
    )
    again = read_request(fields_like_task(task, NOW, None, catalogued=False), None)
    figures = ((1, 4, 60.0), (1, 8, 33.0), (2, 8, 18.0))
    assert again.shapes == tuple(ShapeFigure(hosts=hosts, cores=cores, seconds=s) for hosts, cores, s in figures)
    assert (again.cores, again.profile) == ("4-8", None)
    ranks = detail(
        application="solver",
        launch="openmpi",
        profile=profile((9.0,), "model"),
        processes="8-64",
        processes_per_host=8,
        cores=16,
        memory=8000,
        alternatives=(replace(shapes[0], memory=8000), replace(shapes[1], memory=16000)),
    )
    again = read_request(fields_like_task(ranks, NOW, None, catalogued=True), None)
    assert (again.processes, again.cores, again.processes_per_host) == ("8-64", 0, 1)
    assert (again.launch, again.application) == (LaunchMode.OPENMPI, "solver")
    assert (again.cores_per_process, again.memory, again.memory_per_process) == (2, 0, "1000")
    like = request_like_task(ranks, NOW, catalogued=True)
    assert (like.cores_per_process, like.memory, like.memory_per_process) == (2, 0, 1000)


def test_numbers_are_cloned_with_all_of_their_digits() -> None:
    """Regression: 1048577 cells became 1.04858e+06, and a time of a million seconds was no duration."""
    values: dict[str, float | str] = {"cells": 1048577.0, "step": 0.123456789, "tiny": 5e-7, "kind": "a"}
    task = detail(application="jacobi", parameters=values, time_limit=1234567.5)
    again = read_request(fields_like_task(task, NOW, None, catalogued=True), None)
    assert again.parameters == {"cells": "1048577", "step": "0.123456789", "tiny": "0.0000005", "kind": "a"}
    assert again.time_limit == "1234567.5"
    own = detail(command=("/bin/x",), profile=profile((1234567.5, None, 654321.25)))
    assert read_request(fields_like_task(own, NOW, None, catalogued=False), None).profile == (
        1234567.5,
        None,
        654321.25,
    )
    shapes = [
        AlternativeView(cores=cores, memory=0, gpus=0, processes_per_host=1, profile=profile((seconds,)))
        for cores, seconds in ((4, 2e6), (8, 1000001.0))
    ]
    several = detail(
        command=("/bin/x",), profile=profile((1000001.0,)), cores=4, cores_range="4-8", alternatives=tuple(shapes)
    )
    form = read_request(fields_like_task(several, NOW, None, catalogued=False), None)
    assert [each.seconds for each in form.shapes] == [2e6, 1000001.0]


def test_ranges_are_read_as_they_are_written() -> None:
    request = read_request({"command": "/bin/x", "cores": "8 – 32", "processes": "", "runtime": "1x8:60s"}, None)
    assert (request.cores, request.processes, request.profile) == ("8-32", 0, None)
    assert request.shapes == (ShapeFigure(hosts=1, cores=8, seconds=60.0),)
    assert read_change({"cores": "2-4", "processes": "8"}, None) == TaskChange(cores="2-4", processes=8)
    with pytest.raises(UserError, match="the cores are"):
        read_request({"command": "/bin/x", "cores": "8-"}, None)


@pytest.mark.parametrize("wrong", [{"launch": "twice"}, {"processes_per_host": "many"}])
def test_a_launch_that_cannot_be_read_is_named(wrong: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"twice|many"):
        read_request(wrong, None)


def test_a_command_with_a_model_of_its_own_is_cloned_with_it() -> None:
    task = detail(
        command=("/bin/x",),
        model="a model",
        parameters={"cells": 500.0, "kind": "a"},
        profile=profile((4.0, 2.0), "model"),
    )
    form = read_request(fields_like_task(task, NOW, None, catalogued=False), None)
    assert form == TaskRequest(
        command=("/bin/x",), model="a model", parameters={"cells": "500", "kind": "a"}, name="night"
    )
    assert request_like_task(task, NOW, catalogued=False) == TaskRequest(
        command=("/bin/x",), model="a model", parameters={"cells": 500.0, "kind": "a"}, name="night"
    )


@pytest.mark.parametrize("catalogued", [True, False])
def test_a_job_from_a_file_is_cloned_with_what_the_form_says_instead(catalogued: bool) -> None:
    native = NativeDescription("slurm", {"mem": "2G"}, "#!/bin/sh\n")
    values: dict[str, float | str] = {"Scale": 2.0} if catalogued else {}
    task = detail(
        application="fft",
        command=("/job.sh",),
        native=native,
        parameters=values,
        environment={"A": "1"},
        deadline=NOW,
        count=3,
        best_effort=True,
    )
    fields = fields_like_task(task, NOW, BERLIN, catalogued=catalogued)
    assert (fields["own"], fields["job_of"], fields["hosts"]) == ("job", "7", "3")
    same = resubmit_request(task, fields, BERLIN, catalogued=catalogued)
    assert same == replace(request_like_task(task, NOW, catalogued=catalogued), hosts="3")
    other = resubmit_request(
        task,
        {**fields, "name": "other", "deadline": "", "hosts": "2-4", "profile": "9,5"},
        BERLIN,
        catalogued=catalogued,
    )
    assert other == replace(same, name="other", deadline=None, hosts="2-4", profile=(9.0, 5.0))


def test_environment_and_preparation_are_lines() -> None:
    request = read_request(
        {
            "command": "/x",
            "environment": "A=1\r\nB=x=y\r\n",
            "prepare": "/p\r\n-v",
            "notify": "mailto:ann@x, https://hook",
        },
        None,
    )
    assert request.environment == {"A": "1", "B": "x=y"}
    assert (request.prepare, request.notify) == (("/p", "-v"), ("mailto:ann@x", "https://hook"))
    with pytest.raises(UserError, match="sets no environment variable"):
        read_request({"environment": "A"}, None)


def test_a_field_of_date_and_time_never_comes_before_the_moment() -> None:
    assert local_minute(NOW + 0.2, BERLIN) == "2025-06-15T17:06:41"


BATCH = """#!/bin/sh
#SBATCH --nodes=2-4 --time=10 --mem=2G
#COSCHED --profile=9,8,7 --name=mine --deadline=now+2h --best-effort
echo
"""


def test_a_file_says_what_it_wants_and_the_form_wins() -> None:
    (request,) = requests_of_upload(BATCH, "../../job.sh", {}, NOW, None)
    assert (request.hosts, request.profile, request.name) == ("2-4", (9.0, 8.0, 7.0), "mine")
    assert (request.deadline, request.best_effort, request.time_limit) == (NOW + 7200, True, 600.0)
    assert request.native is not None
    assert request.native.settings == {"mem": "2G"}
    assert request.directory == ""
    (changed,) = requests_of_upload(
        BATCH, "job.sh", {"name": "other", "hosts": "3", "deadline": "2030-01-31T18:00+00:00"}, NOW, None
    )
    assert (changed.name, changed.hosts, changed.deadline) == ("other", "3", 1896112800.0)


def test_a_file_names_those_it_comes_after() -> None:
    (request,) = requests_of_upload(BATCH.replace("--best-effort", "--after=17"), "job.sh", {}, NOW, None)
    assert request.after == ("17",)


def test_an_array_is_many_tasks() -> None:
    made = requests_of_upload(BATCH.replace("--mem", "--array=1-5%2 --mem"), "job.sh", {}, NOW, None)
    assert [(each.array_index, each.array_at_most) for each in made] == [(index, 2) for index in range(1, 6)]


def test_a_file_says_when_it_begins_and_how_long_it_runs() -> None:
    """Both were dropped without a word from files that were uploaded."""
    asked = "--begin=18:00 --mem"
    text = BATCH.replace("--mem", asked).replace("--profile=9,8,7", "--runtime=2:10m,3:8m")
    (request,) = requests_of_upload(text, "job.sh", {}, NOW, BERLIN)
    assert local_minute(float(request.begin or 0), BERLIN).endswith("T18:00:00")
    assert request.profile == (None, 600.0, 480.0)
    (changed,) = requests_of_upload(text, "job.sh", {"hosts": "2", "runtime": "5m"}, NOW, BERLIN)
    assert changed.profile == (None, 300.0)


def test_licences_are_written_as_on_the_command_line() -> None:
    assert read_request({"command": "/bin/cat", "licences": " matlab:2, ansys "}, None).licences == {
        "ansys": 1,
        "matlab": 2,
    }
    assert read_change({"licences": "matlab"}, None).licences == {"matlab": 1}
    assert read_change({"licences": "none"}, None).licences == {}
    assert read_change({"licences": " "}, None).licences is None
    with pytest.raises(UserError, match="'2' is no name of a licence"):
        read_request({"command": "/bin/cat", "licences": "2"}, None)
    batch = BATCH.replace("--profile=9,8,7", "--profile=9,8,7 --licences=matlab:3")
    (request,) = requests_of_upload(batch, "job.sh", {}, NOW, BERLIN)
    assert request.licences == {"matlab": 3}
    (request,) = requests_of_upload(batch, "job.sh", {"licences": "matlab"}, NOW, BERLIN)
    assert request.licences == {"matlab": 1}


def test_times_and_input_are_written_as_on_the_command_line() -> None:
    fields = {"command": "/bin/cat", "hosts": "4", "runtime": "30m", "stdin": " /data/in ", "no_requeue": "on"}
    request = read_request(fields, None)
    assert request.profile == (None, None, None, 1800.0)
    assert (request.stdin, request.requeue) == ("/data/in", False)
    with pytest.raises(UserError, match="both say how long it takes"):
        read_request({**fields, "profile": "50"}, None)


def test_an_array_of_the_form_is_many_tasks() -> None:
    made = requests_of_form({"command": "/bin/true", "array": "1-3%2", "name": "many"}, None)
    assert [(each.array_index, each.array_at_most, each.name) for each in made] == [
        (index, 2, f"many.{index}") for index in (1, 2, 3)
    ]
    assert made[0].environment == {"TASK_INDEX": "1"}
    assert len(requests_of_form({"command": "/bin/true", "array": " "}, None)) == 1


def test_empty_fields_of_a_change_change_nothing() -> None:
    given = {"memory": "2G", "cores": "", "retries": "0", "at_most": "3", "requeue": "no", "best_effort": ""}
    assert read_change(given, None) == TaskChange(memory="2G", retries=0, array_at_most=3, requeue=False)


@pytest.mark.parametrize("line", ["include command : touch /tmp/x", "queue a from ls |", "x = $ENV(PATH)"])
def test_a_file_from_elsewhere_reaches_nothing(line: str) -> None:
    """Bad inputs 2."""
    with pytest.raises(UserError, match="may reach beyond the file"):
        requests_of_upload(
            f"executable = /bin/true\n{line}\n{'' if 'queue' in line else 'queue'}\n", "job.sub", {}, NOW, None
        )
