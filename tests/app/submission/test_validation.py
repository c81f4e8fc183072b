from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.access import Principal, Role
from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.app.submission.admission import DomainState, check_predecessors, offered_notice
from cosched.app.submission.validation import TaskValidator
from cosched.connector import Host
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.task import TaskState
from cosched.errors import SystemFault, UserError
from cosched.prediction.calibration import Correction
from cosched.prediction.catalogue import Catalogue, CatalogueEntry
from cosched.prediction.model_predictor import ModelPredictor
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import a_task
from tests.daemon.makers import Halving, catalogue
from tests.tasks import change_task

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_750_000_000.0
DOMAIN = DomainState(NOW, hosts=16)


@pytest.fixture
def intake(tmp_path: Path) -> TaskValidator:
    return TaskValidator(catalogue(tmp_path / "applications.d"), Halving(), "fast")


def test_an_application_is_predicted_within_its_host_range(intake: TaskValidator) -> None:
    task = intake.task(TaskRequest(application="halving", parameters={"work": "40"}, deadline=NOW + 100), DOMAIN)
    assert task.profile is not None
    assert task.profile.seconds == tuple(40 / count for count in range(1, 9))
    assert (task.profile.source, task.profile.hardware) == (PredictionSource.MODEL, "fast")
    assert task.correction == "halving/fast"
    assert task.spec.command == ("/opt/halving", "--work=40")
    assert (task.spec.name, task.status.state, task.spec.deadline) == ("halving", TaskState.QUEUED, NOW + 100)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("/bin/prog", "-x"), "prog"),
        (("/usr/bin/python3.11", "heat.py", "100"), "heat.py"),
        (("/bin/bash", "/home/ann/job"), "job"),
        (("/bin/sh", "-c", "true"), "sh"),
        (("/usr/bin/python3",), "python3"),
        (("/usr/bin/python3", "/"), "python3"),
        (("/bin/cat", "notes"), "cat"),
    ],
)
def test_a_command_is_called_after_its_program_or_script(
    intake: TaskValidator, command: tuple[str, ...], name: str
) -> None:
    task = intake.task(TaskRequest(command=command), DOMAIN)
    assert (task.spec.name, task.spec.application) == (name, command[0].rpartition("/")[2])
    assert intake.task(TaskRequest(command=command, name="mine"), DOMAIN).spec.name == "mine"


def test_the_user_narrows_the_host_range(intake: TaskValidator) -> None:
    task = intake.task(TaskRequest(application="halving", hosts="2-4"), DOMAIN)
    assert task.profile is not None
    assert task.profile.seconds == (math.inf, 40.0, 80 / 3, 20.0)


def test_the_slowest_class_of_a_mixed_domain_decides(intake: TaskValidator) -> None:
    task = intake.task(TaskRequest(application="halving"), replace(DOMAIN, classes=("fast", "slow")))
    assert task.profile is not None
    assert task.profile.on(1) == 160.0
    assert task.correction == "halving/fast+slow"
    assert [(each.hardware, each.on(1)) for each in task.profile.classes] == [("fast", 80.0), ("slow", 160.0)]


def test_a_deadline_that_the_fastest_class_can_meet_is_accepted(intake: TaskValidator) -> None:
    mixed = replace(DOMAIN, classes=("fast", "slow"))
    request = TaskRequest(application="halving", hosts=1, deadline=NOW + 100)
    assert intake.task(request, mixed).spec.deadline == NOW + 100
    with pytest.raises(UserError, match=r"shortest prediction is 1 min 20 s"):
        intake.task(replace(request, deadline=NOW + 70), mixed)


def test_an_application_of_the_catalogue_says_how_it_is_launched(tmp_path: Path) -> None:
    lines = 'command = ["/bin/solver"]\nlaunch = "openmpi"\nprocesses_per_host = 4\n'
    (tmp_path / "solver.toml").write_text(lines)
    intake = TaskValidator(Catalogue([tmp_path]), Halving(), "fast")
    spec = intake.task(TaskRequest(application="solver"), DOMAIN).spec
    assert (spec.launch, spec.processes_per_host) == (LaunchMode.OPENMPI, 4)
    request = TaskRequest(application="solver", launch=LaunchMode.MPICH, processes_per_host=2)
    spec = intake.task(request, DOMAIN).spec
    assert (spec.launch, spec.processes_per_host) == (LaunchMode.MPICH, 2)
    modes = get_args(CatalogueEntry.model_fields["launch"].annotation)
    assert modes == tuple(map(str, LaunchMode))
    (tmp_path / "solver.toml").write_text(lines.replace("openmpi", "each"))
    with pytest.raises(UserError, match="for a command that is launched once"):
        Catalogue([tmp_path])


def test_a_task_says_how_it_is_launched(intake: TaskValidator) -> None:
    request = TaskRequest(application="halving", launch=LaunchMode.OPENMPI, processes_per_host=4)
    spec = intake.task(request, DOMAIN).spec
    assert (spec.launch, spec.processes_per_host) == (LaunchMode.OPENMPI, 4)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"processes_per_host": 2}, "launch .openmpi"),
        ({"launch": LaunchMode.MPICH, "processes_per_host": 0}, "from 1 to"),
        ({"launch": LaunchMode.ONCE, "native": NativeDescription("local", script="x")}, "says itself"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(intake: TaskValidator, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        intake.task(TaskRequest(command=("/x",), **wrong), replace(DOMAIN))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"file_sizes": {"a": -1}}, "-1 of 'a': give a name, and its bytes from 0 on"),
        ({"file_sizes": {"": 1}}, "give a name"),
        ({"file_sizes": {str(index): 1 for index in range(65)}}, "names 65 files: give at most 64"),
        ({"program_digest": "no digest"}, "at most 64 letters and digits"),
    ],
)
def test_files_that_cannot_be_are_refused(intake: TaskValidator, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        intake.task(TaskRequest(command=("/x",), **wrong), DOMAIN)


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ({"memory": "16G", "hosts": 3}, "only 2 hosts have 16G of memory for a job, and the task needs that on 3"),
        (
            {"cores": 65},
            "no host has 65 cores for a job, and the task needs that on 1: ask for less .the largest have 16 cores",
        ),
        ({"gpus": 1}, "ask for less .they have none"),
        ({"cores": -1}, "give numbers from 0 on"),
        ({"memory": "much"}, "write 4G, 512M"),
    ],
)
def test_what_too_few_hosts_have_is_refused(intake: TaskValidator, needs: dict[str, Any], words: str) -> None:
    sizes = tuple(Host(str(gib), memory=gib << 10, cores=16, gpus=0) for gib in (8, 64, 64))
    domain = DomainState(NOW, hosts=3, sizes=sizes)
    assert intake.task(TaskRequest(command=("/x",), hosts=2, memory="16G"), domain).spec.memory == 16384
    with pytest.raises(UserError, match=words):
        intake.task(TaskRequest(command=("/x",), **needs), domain)


def test_a_partition_with_too_few_hosts_of_the_domain_is_refused(tmp_path: Path) -> None:
    intake = TaskValidator(Catalogue([tmp_path]), Halving(), "fast", "slurm")
    sizes = (Host("a", partitions=("short",)), Host("b", partitions=("long", "short")), Host("c"))
    domain = DomainState(NOW, hosts=3, sizes=sizes[:2])

    def asking(partition: str, **changes: Any) -> TaskRequest:
        native = NativeDescription("slurm", {"partition": partition}, "#!/bin/sh\n")
        return TaskRequest(command=("/x",), native=native, **({"profile": (9.0,)} | changes))

    assert intake.task(asking("gpu,long"), domain).spec.partition == "long"
    assert intake.task(asking("long,short"), domain).spec.partition == "short"  # it has more hosts
    assert intake.task(asking("gpu", profile=None), domain).spec.partition == "gpu"  # the manager places it
    assert intake.task(asking("gpu"), replace(domain, sizes=sizes)).spec.partition == "gpu"
    for request, words in (
        (asking("gpu"), r"no host of this domain is in the partition gpu.*\(partitions of .*: long, short\)"),
        (asking("long", profile=(None, 9.0), hosts="2"), "only 1 host of this domain .* long, and its file asks for 2"),
    ):
        with pytest.raises(UserError, match=words):
            intake.task(request, domain)


def test_former_runs_foretell_no_task_whose_partition_has_too_few_hosts_here(tmp_path: Path) -> None:
    """It would be planned, on no host, and wait for ever; so the manager chooses its hosts each time."""
    history = SimpleNamespace(profile=lambda *_: Profile((9.0,), PredictionSource.HISTORY))
    intake = TaskValidator(Catalogue([tmp_path]), Halving(), "fast", "slurm", history=cast("Any", history))
    domain = DomainState(NOW, hosts=1, sizes=(Host("a", partitions=("short",)),))
    for partition, planned in {"gpu": False, "short": True}.items():
        native = NativeDescription("slurm", {"partition": partition}, "#!/bin/sh\n")
        task = intake.task(TaskRequest(command=("/x",), native=native), domain, "ann")
        assert (task.profile is not None) is planned


def test_a_program_that_is_launched_once_has_one_slot_or_several_whole_machines(intake: TaskValidator) -> None:
    slots = tuple(Host(f"slot{number}@m", unparted=True) for number in range(4))
    machines = (Host("a"), Host("b"))
    figures = (40.0, 20.0, 14.0, 10.0)

    def able(launch: LaunchMode, hosts: str, sizes: tuple[Host, ...]) -> int:
        request = TaskRequest(command=("/x",), launch=launch, hosts=hosts, profile=figures)
        profile = intake.task(request, DomainState(NOW, hosts=len(sizes), sizes=sizes)).profile
        assert profile is not None
        return sum(map(math.isfinite, profile.seconds))

    assert able(LaunchMode.EACH, "1-4", slots) == 4
    assert able(LaunchMode.ONCE, "1-4", slots) == 1
    assert able(LaunchMode.OPENMPI, "1-4", slots + machines) == 2
    assert able(LaunchMode.ONCE, "2", slots + machines) == 1
    with pytest.raises(UserError, match=r"launched once on 2 hosts.* ask for 1 host, or launch it on each"):
        able(LaunchMode.ONCE, "2", slots)


def test_an_application_brings_its_licences_where_its_task_does_not_say(tmp_path: Path) -> None:
    (tmp_path / "matlab.toml").write_text('command = ["/bin/matlab"]\nlicences = { matlab = 2 }\n')
    intake = TaskValidator(Catalogue([tmp_path]), Halving(), "fast")
    domain = DomainState(NOW, hosts=3, licences={"matlab": 4})
    assert intake.task(TaskRequest(application="matlab"), domain).spec.licences == {"matlab": 2}
    asking = TaskRequest(application="matlab", licences={"matlab": 1})
    assert intake.task(asking, domain).spec.licences == {"matlab": 1}


def test_more_licences_than_the_domain_has_are_refused(intake: TaskValidator) -> None:
    domain = DomainState(NOW, hosts=3, licences={"matlab": 4, "ansys": 0})
    request = TaskRequest(command=("/x",), licences={"matlab": 4})
    assert intake.task(request, domain).spec.licences == {"matlab": 4}
    for asked, words in (
        (
            {"matlab": 5},
            r"5 of matlab, and this domain has 4 of it: .*\(licences here: ansys 0, matlab 4\)",
        ),
        ({"spice": 1}, "it asks for 1 of spice, and this domain has none of it: ask for one that it has, or"),
        ({"ansys": 1}, "it asks for 1 of ansys, and this domain has none of it"),
        ({"mat lab": 1}, "'mat lab' is no name of a licence"),
        ({"matlab": 0}, "0 of licence matlab is no number of them"),
    ):
        with pytest.raises(UserError, match=words):
            intake.task(replace(request, licences=asked), domain)
    with pytest.raises(UserError, match=r"\(licences here: none\)"):
        intake.task(request, DOMAIN)


def test_needs_of_each_process_are_those_of_all_on_a_host(intake: TaskValidator) -> None:
    each: dict[str, Any] = {"memory_per_process": "1.5G", "cores_per_process": 2, "gpus_per_process": 1}
    ranks = TaskRequest(command=("/x",), hosts=2, launch=LaunchMode.OPENMPI, processes_per_host=8, **each)
    assert intake.task(ranks, DOMAIN).spec.needs == (12288, 16, 8)
    assert intake.task(TaskRequest(command=("/x",), hosts=2, **each), DOMAIN).spec.needs == (1536, 2, 1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"cores": 2, "cores_per_process": 1},
            "its cores and its cores for each process both say what it needs: give one of them",
        ),
        ({"memory_per_process": "much"}, "write 4G, 512M"),
        ({"gpus_per_process": -1}, "gpus_per_process is -1: give a number from 0 on"),
        (
            {"memory_per_process": 1 << 29, "processes_per_host": 1024, "launch": LaunchMode.ONCE},
            "the memory is .* write 4G, 512M",
        ),
    ],
)
def test_needs_of_each_process_that_cannot_be_are_refused(
    intake: TaskValidator, wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        intake.task(TaskRequest(command=("/x",), **wrong), DOMAIN)


def test_what_a_file_of_the_users_own_asks_for_counts_likewise(intake: TaskValidator) -> None:
    """A submit file with request_memory was refused for needing anything at all."""
    domain = DomainState(NOW, hosts=1, sizes=(Host("1", memory=8192, cores=16, gpus=0),))
    native = NativeDescription("local", script="x")
    request = TaskRequest(command=("/job.sh",), native=native, memory="4G")
    assert intake.task(request, domain).spec.memory == 4096
    with pytest.raises(UserError, match="no host has 16G of memory for a job"):
        intake.task(replace(request, memory="16G"), domain)


def test_the_users_own_figures_stand_in_for_a_model(intake: TaskValidator) -> None:
    task = intake.task(TaskRequest(command=("/bin/prog", "-x"), profile=(50, None, 30)), DOMAIN)
    assert task.profile is not None
    assert task.profile.seconds == (50.0, math.inf, 30.0)
    assert task.profile.source is PredictionSource.USER
    assert task.correction == ""
    assert task.spec.application == "prog"


def test_a_task_without_a_model_has_no_profile(intake: TaskValidator) -> None:
    assert intake.task(TaskRequest(command=("/bin/prog",), hosts=3), DOMAIN).spec.count == 3
    plain = intake.task(TaskRequest(application="plain"), DOMAIN)
    assert (plain.profile, plain.spec.count) == (None, 1)


@pytest.mark.parametrize(
    "stays",
    [
        {"requeue": False},
        {"licences": {"matlab": 1}},
        {"array_index": 0, "array_at_most": 2},
        {
            "application": "",
            "command": ("/bin/lead",),
            "profile": (50.0, 40.0),
            "elastic": ElasticRequest(worker=("/w",)),
        },
    ],
)
def test_a_deadline_that_cannot_be_met_is_refused_of_what_no_other_domain_may_have(
    intake: TaskValidator, stays: dict[str, Any]
) -> None:
    """Regression: it was accepted, and said to be offered to neighbouring domains, which it never was."""
    offering = replace(DOMAIN, accepts_late=True, licences={"matlab": 4})
    request = replace(TaskRequest(application="halving", deadline=NOW + 9), **stays)
    with pytest.raises(UserError, match="cannot be met"):
        intake.task(request, offering)
    late = intake.task(replace(request, best_effort=True), offering)
    assert offered_notice(change_task(late, best_effort=False), offering) == ""


def test_a_deadline_that_cannot_be_met_is_answered_with_the_earliest(intake: TaskValidator) -> None:
    request = TaskRequest(application="halving", deadline=NOW + 9)
    with pytest.raises(UserError, match=r"shortest prediction is 10 s, on 8 hosts; the earliest deadline .* is 2025-"):
        intake.task(request, DOMAIN)
    with pytest.raises(UserError, match=r"is 10 s, on 8 hosts, from its begin 2025-06-1\d \S+ on; the earliest"):
        intake.task(replace(request, begin=NOW + 7800, deadline=NOW + 3600), DOMAIN)
    assert intake.task(replace(request, best_effort=True), DOMAIN).spec.best_effort
    # Where there are neighbours it is offered to them, also from a user's own file.
    offering = replace(DOMAIN, accepts_late=True)
    assert "here, late, if none of them" in offered_notice(intake.task(request, offering), offering)
    assert offered_notice(intake.task(replace(request, deadline=NOW + 11), offering), offering) == ""
    from_a_file = replace(request, command=("/job.sh",), native=NativeDescription("local", script="#!/bin/sh\ntrue\n"))
    assert "here, late, if none of them" in offered_notice(intake.task(from_a_file, offering), offering)
    with pytest.raises(UserError, match="cannot be met"):
        intake.task(from_a_file, DOMAIN)
    # Runs have shown that the model is too slow by a factor of two.
    assert (
        intake.task(request, replace(DOMAIN, corrections={"halving/fast": Correction(0.5, 1)})).spec.deadline == NOW + 9
    )
    # That runs have shown it to be too quick refuses nothing.
    slower, soon = (
        replace(DOMAIN, corrections={"halving/fast": Correction(1.3, 8)}),
        replace(request, deadline=NOW + 11),
    )
    assert intake.task(soon, slower).spec.deadline == NOW + 11


# What cannot be said in JSON; all else is in the table of tests/portal/test_bad_inputs.py.
REFUSED = [
    (TaskRequest(command=("/bin/true", "\ud800")), "half of a surrogate pair"),
    (TaskRequest(application="halving", profile=(math.nan, 1.0)), "prediction for 1 host is nan s"),
    (TaskRequest(application="halving", deadline=NOW), "is past, it is"),
]


@pytest.mark.parametrize(("request_", "expected"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_a_faulty_request_is_refused_in_one_line(intake: TaskValidator, request_: TaskRequest, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        intake.task(request_, DOMAIN)
    assert re.search(expected, str(caught.value))
    assert "\n" not in str(caught.value)


def test_more_hosts_than_exist_are_refused(intake: TaskValidator) -> None:
    with pytest.raises(UserError, match="needs at least 4 hosts and the domain has 3: ask for fewer"):
        intake.task(TaskRequest(application="halving", hosts="4-8"), replace(DOMAIN, hosts=3))


def test_before_the_hosts_are_known_no_model_can_be_asked(intake: TaskValidator) -> None:
    with pytest.raises(SystemFault, match="has not said yet which hosts there are: try again"):
        intake.task(TaskRequest(application="halving"), replace(DOMAIN, hosts=0))


@given(
    st.builds(
        TaskRequest,
        application=st.sampled_from(["halving", "plain", ""]) | st.text(),
        command=st.lists(st.text(), max_size=3).map(tuple),
        deadline=st.none() | st.floats() | st.text(),
        hosts=st.none() | st.integers() | st.text(),
        profile=st.none() | st.lists(st.none() | st.floats(), max_size=4).map(tuple),
        name=st.text(),
        directory=st.text(),
        time_limit=st.none() | st.floats() | st.text(),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_request_makes_a_sound_task_or_a_refusal(intake: TaskValidator, request_: TaskRequest) -> None:
    with suppress(UserError):
        task = intake.task(request_, DOMAIN)
        assert task.spec.command[0].startswith("/")
        assert 1 <= task.spec.count <= 16
        assert task.spec.deadline is None or task.spec.deadline > NOW
        assert task.profile is None or len(task.profile.seconds) <= 16


def test_a_command_may_bring_a_model_of_its_own(intake: TaskValidator) -> None:
    request = TaskRequest(command=("/bin/true",), model="a model", parameters={"work": "40"}, hosts="2-4")
    task = intake.task(request, DOMAIN)
    assert task.profile is not None
    assert task.profile.seconds == (math.inf, 20.0, 40 / 3, 10.0)
    for wrong, why in (
        ({"model": "else"}, "your model:1:1"),
        ({"parameters": {"work": "much"}}, "work is 'much': give a number"),
        ({"profile": (1.0,)}, "without figures of your own"),
        ({"command": (), "application": "halving"}, "goes with a command"),
    ):
        with pytest.raises(UserError, match=re.escape(why)):
            intake.task(replace(request, **wrong), DOMAIN)


NEW = a_task(9, after=("1",))


@pytest.mark.parametrize("state", TaskState)
def test_only_those_can_be_waited_for_that_have_completed_or_may_yet(state: TaskState) -> None:
    found = {"1": change_task(a_task(1, owner="me"), state=state)}
    if state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.CANCELLING):
        with pytest.raises(UserError, match="would never start"):
            check_predecessors([NEW], found.get)
    else:
        check_predecessors([NEW], found.get)


@pytest.mark.parametrize(
    ("name", "role", "seen"), [("me", Role.USER, True), ("you", Role.USER, False), ("you", Role.OPERATOR, True)]
)
def test_others_tasks_are_as_absent_as_ones_that_never_were(name: str, role: Role, seen: bool) -> None:
    found = {"1": a_task(1, owner="me")}
    if seen:
        check_predecessors([NEW], found.get, Principal(name, role))
    else:
        with pytest.raises(UserError, match="there is no task '1'"):
            check_predecessors([NEW], found.get, Principal(name, role))


@pytest.mark.parametrize(
    ("launch", "processes", "seconds"),
    [
        (LaunchMode.EACH, 1, 20.0),
        (LaunchMode.ONCE, 1, 20.0),
        (LaunchMode.OPENMPI, 1, 80.0),
        (LaunchMode.MPICH, 8, 10.0),
    ],
)
def test_a_model_is_asked_for_the_ranks_that_the_launcher_starts(
    tmp_path: Path, launch: LaunchMode, processes: int, seconds: float
) -> None:
    (tmp_path / "four.hmcl").write_text("config four { hardware { processors = 4; } clc { CMLL = 1; } }")
    intake = TaskValidator(Catalogue([tmp_path]), ModelPredictor([tmp_path]), "four")
    model = "application halves { proc exec init { step cpu { confdev 80 s / Nproc; } } }"
    request = TaskRequest(command=("/bin/x",), model=model, launch=launch, processes_per_host=processes, hosts=1)
    profile = intake.task(request, replace(DOMAIN, hosts=1)).profile
    assert profile is not None
    assert profile.seconds == pytest.approx((seconds,))


@pytest.mark.parametrize(
    ("command", "name"), [(("/opt/it's",), "it_s"), (("/bin/sh", "/home/ann/-x $y.sh"), "_x _y.sh"), (("/opt/é",), "é")]
)
def test_a_name_that_was_not_given_never_refuses_a_program(
    intake: TaskValidator, command: tuple[str, ...], name: str
) -> None:
    assert intake.task(TaskRequest(command=command), DOMAIN).spec.name == name


@pytest.mark.parametrize("program", ["/opt/a\nb", "/opt/a\x1b[2J", "/opt\u202e/b"])
def test_a_program_with_characters_that_nobody_sees_is_refused_as_such(intake: TaskValidator, program: str) -> None:
    with pytest.raises(UserError, match=r"the program's path .* contains .*: give it another name"):
        intake.task(TaskRequest(command=(program,), name="fine"), DOMAIN)
