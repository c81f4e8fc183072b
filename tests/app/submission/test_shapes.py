"""A range of cores, or of processes, becomes a task with the shapes that are worth planning with."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import ShapeFigure, TaskRequest
from cosched.app.submission.admission import DomainState
from cosched.app.submission.shapes import asked_shapes, chosen_by_turn
from cosched.app.submission.validation import TaskValidator
from cosched.connector import Host, LaunchMode, NativeDescription
from cosched.errors import UserError
from cosched.prediction.catalogue import Catalogue
from cosched.prediction.profile import PredictionSource, Profile
from tests.daemon.makers import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cosched.coscheduler.task import Task

NOW = 1_750_000_000.0
NODES = DomainState(NOW, hosts=4, sizes=tuple(Host(f"node{n}", memory=64_000, cores=64, gpus=4) for n in range(4)))
COMMAND = TaskRequest(command=("/bin/prog",))
MPI = replace(COMMAND, launch=LaunchMode.OPENMPI)


class Amdahl:
    """Predicts 6 s, and 600 s divided by the processors; on several hosts a second more for each."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def _profile(self, hosts: int, ranks: int, hardware: str) -> Profile:
        self.asked.append(ranks)
        seconds = [6 + 600 / (count * (ranks or 1)) + count for count in range(1, hosts + 1)]
        return Profile(tuple(seconds), PredictionSource.MODEL, hardware)

    def profile(self, _entry: Any, _values: Mapping[str, Any], hardware: str, hosts: int, ranks: int = 0) -> Profile:
        return self._profile(hosts, ranks, hardware)

    def text_profile(
        self, _text: str, _values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        return self._profile(hosts, ranks, hardware)


@pytest.fixture
def intake(tmp_path: Path) -> TaskValidator:
    return TaskValidator(catalogue(tmp_path / "applications.d"), Amdahl(), "fast")


def shapes(task: Task) -> list[tuple[int, int, float]]:
    """Return hosts, cores of each and seconds of a task's shapes."""
    return [
        (count, each.cores, seconds)
        for each in task.alternatives
        for count, seconds in enumerate(each.profile.seconds, 1)
        if seconds < math.inf
    ]


def test_a_model_says_how_long_it_takes_with_each_number_of_cores(intake: TaskValidator) -> None:
    task = intake.task(replace(COMMAND, model="m", hosts="1-2", cores="8-32"), NODES)
    one = [(1, 8, 82.0), (1, 12, 57.0), (1, 16, 44.5), (1, 24, 32.0)]
    assert shapes(task) == [*one, (2, 24, 20.5), (1, 32, 25.75), (2, 32, 17.375)]
    assert (task.spec.cores, task.spec.cores_range, task.spec.count) == (8, "8-32", 1)
    assert task.profile is not None
    assert task.profile.seconds == (25.75, 17.375)


def test_processes_are_divided_among_hosts(intake: TaskValidator) -> None:
    task = intake.task(replace(MPI, model="m", processes="48-128", memory_per_process="1G", cores_per_process=2), NODES)
    assert {count * each // 2 for count, each, _ in shapes(task)} <= set(range(48, 129))
    assert {each.processes_per_host * 2 for each in task.alternatives} == {each.cores for each in task.alternatives}
    assert {each.memory for each in task.alternatives} == {each.processes_per_host * 1024 for each in task.alternatives}
    assert (task.spec.processes, task.spec.cores_range) == ("48-128", "")
    assert task.spec.processes_per_host == task.alternatives[0].processes_per_host
    exact = intake.task(replace(MPI, model="m", processes=24), NODES)
    assert {count * each for count, each, _ in shapes(exact) or [(exact.spec.count, exact.spec.cores, 0.0)]} == {24}


@pytest.mark.parametrize(
    ("asked", "hosts", "cores"),
    [
        ({"processes": 64}, [1] * 4, [64] * 4),
        ({"processes": 100}, [2] * 4, [50] * 4),
        ({"processes": 4, "hosts": 2}, [2] * 4, [2] * 4),
        ({"processes": "16-128"}, [1] * 4, [64, 16, 32, 64]),
        ({"cores": "8-32"}, [1] * 4, [8, 32, 16, 8]),
    ],
)
def test_processes_of_which_nothing_is_known_are_on_as_few_hosts_as_hold_them(
    intake: TaskValidator, asked: dict[str, Any], hosts: list[int], cores: list[int]
) -> None:
    """They were spread over all hosts: a job of 16 waited for a core of each, and kept those that came free."""
    request = replace(MPI if "processes" in asked else COMMAND, **asked)
    shapes = asked_shapes(request, NODES.sizes)
    assert shapes is not None
    tasks = [intake.task(replace(each, processes=0), NODES) for each in shapes.requests]
    tasks = [replace(task, spec=replace(task.spec, processes=shapes.processes)) for task in tasks]
    chosen = [chosen_by_turn(tasks, turn).spec for turn in range(4)]
    assert ([each.count for each in chosen], [each.cores for each in chosen]) == (hosts, cores)
    assert intake.task(request, NODES).spec.count == hosts[0]


def test_a_users_own_figures_are_for_hosts_and_cores(intake: TaskValidator) -> None:
    figures = (
        ShapeFigure(hosts=1, cores=8, seconds=60.0),
        ShapeFigure(hosts=2, cores=8, seconds=70.0),
        ShapeFigure(hosts=1, cores=16, seconds=33.0),
        ShapeFigure(hosts=2, cores=16, seconds=18.0),
    )
    task = intake.task(replace(COMMAND, shapes=figures), NODES)
    assert shapes(task) == [(1, 8, 60.0), (1, 16, 33.0), (2, 16, 18.0)]
    assert (task.spec.cores_range, task.profile and task.profile.source) == ("8-16", PredictionSource.USER)
    narrowed = intake.task(replace(COMMAND, shapes=figures, cores="10-64", hosts=1), NODES)
    assert (narrowed.alternatives, narrowed.spec.cores) == ((), 16)
    assert narrowed.profile is not None
    assert narrowed.profile.seconds == (33.0,)


def test_one_shape_is_a_task_as_ever(intake: TaskValidator) -> None:
    figure = (ShapeFigure(hosts=2, cores=16, seconds=18.0),)
    task = intake.task(replace(COMMAND, shapes=figure), NODES)
    plain = intake.task(replace(COMMAND, cores=16, hosts=2, profile=(None, 18.0)), NODES)
    assert task == plain
    assert intake.task(replace(COMMAND, cores="16"), NODES) == intake.task(replace(COMMAND, cores=16), NODES)


def test_what_hosts_have_not_is_no_shape(intake: TaskValidator) -> None:
    task = intake.task(replace(COMMAND, model="m", hosts=1, cores="32-256"), NODES)
    assert [each.cores for each in task.alternatives] == [32, 48, 64]
    with pytest.raises(UserError, match="no host has 128 cores"):
        intake.task(replace(COMMAND, model="m", cores="128-256"), NODES)


def test_a_model_is_asked_for_no_more_processors_than_a_host_may_have(tmp_path: Path) -> None:
    model = Amdahl()
    intake = TaskValidator(catalogue(tmp_path / "applications.d"), model, "fast")
    intake.task(replace(COMMAND, model="m", cores="8-999999999"), NODES)
    intake.task(replace(MPI, model="m", processes="8-999999999"), NODES)
    assert max(model.asked) == 64
    unknown = DomainState(NOW, hosts=2, sizes=(Host("a"), Host("b")))
    intake.task(replace(COMMAND, model="m", cores="8-999999999"), unknown)
    for domain in (NODES, unknown):
        with pytest.raises(UserError, match="no host has 900000000 cores"):
            intake.task(replace(COMMAND, model="m", cores="900000000-900000001"), domain)
    assert max(model.asked) == 1024


def test_without_a_prediction_it_gets_one_of_the_shapes(intake: TaskValidator) -> None:
    task = intake.task(replace(COMMAND, cores="8-32"), NODES)
    assert (task.profile, task.alternatives, task.spec.cores, task.spec.cores_range) == (None, (), 8, "8-32")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (replace(COMMAND, cores="8-"), "give a number, or a range"),
        (replace(COMMAND, cores="32-8"), "give a number, or a range"),
        (replace(COMMAND, cores="0-8"), "give a number, or a range"),
        (replace(COMMAND, cores="8-32", profile=(9.0,)), "1x8:30m,1x16:17m"),
        (replace(COMMAND, cores="8-32", cores_per_process=2), "cores for each process both say"),
        (replace(COMMAND, processes=8), "for a number of processes have it launched by MPI .launch"),
        (replace(MPI, processes=8, processes_per_host=2), "leave the processes on each host and its cores out"),
        (replace(MPI, processes=8, cores=2), "leave the processes on each host and its cores out"),
        (replace(MPI, processes="300-400", hosts=2), "cannot be divided among 2 hosts with up to 64 on each"),
        (replace(COMMAND, shapes=(ShapeFigure(cores=0, seconds=1.0),)), "is no shape"),
        (replace(COMMAND, shapes=(ShapeFigure(cores=1, seconds=math.inf),)), "is no shape"),
        (replace(COMMAND, shapes=(ShapeFigure(cores=2, seconds=1.0),) * 2), "two run times"),
        (replace(COMMAND, shapes=(ShapeFigure(hosts=10**12, cores=2, seconds=1.0),)), "and there are 4: give some"),
        (replace(COMMAND, shapes=tuple(ShapeFigure(cores=n, seconds=1.0) for n in range(1, 300))), "at most 256"),
        (replace(COMMAND, shapes=(ShapeFigure(cores=2, seconds=1.0),), cores="4-8"), "it is to have 4-8"),
        (
            replace(COMMAND, shapes=(ShapeFigure(cores=2, seconds=1.0),), model="m"),
            "leave the profile or the model out",
        ),
        (
            replace(COMMAND, native=NativeDescription("local", {}, "#!/bin/sh\n"), cores="2-4"),
            "a file of the user's own",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(intake: TaskValidator, request_: TaskRequest, words: str) -> None:
    with pytest.raises(UserError, match=words):
        intake.task(request_, NODES)


@given(st.text(alphabet="0123456789-x ", max_size=8), st.text(alphabet="0123456789-", max_size=8))
def test_any_range_is_read_or_refused(cores: str, processes: str) -> None:
    for request in (replace(MPI, cores=cores), replace(MPI, processes=processes)):
        try:
            asked = asked_shapes(request, NODES.sizes)
        except UserError:
            continue
        for one in () if asked is None else asked.requests:
            assert isinstance(one.cores, int)
            assert one.cores >= 1


def test_an_application_of_the_catalogue_names_the_range_for_its_tasks(tmp_path: Path) -> None:
    lines = 'command = ["/bin/solver"]\nmodel = "solver"\nlaunch = "openmpi"\n'
    (tmp_path / "solver.toml").write_text(f'{lines}processes = "8-32"\n')
    (tmp_path / "threads.toml").write_text('command = ["/bin/threads"]\nmodel = "threads"\ncores = "2-8"\n')
    (tmp_path / "rigid.toml").write_text(f"{lines}processes_per_host = 8\n")
    intake = TaskValidator(Catalogue([tmp_path]), Amdahl(), "fast")
    solver = intake.task(TaskRequest(application="solver"), NODES)
    assert (solver.spec.processes, solver.spec.launch) == ("8-32", LaunchMode.OPENMPI)
    threads = intake.task(TaskRequest(application="threads"), NODES)
    assert (threads.spec.cores_range, threads.spec.cores) == ("2-8", 2)
    assert intake.task(TaskRequest(application="threads", cores=4), NODES).alternatives == ()
    assert intake.task(TaskRequest(application="rigid", processes=16), NODES).spec.processes == "16"


@pytest.mark.parametrize("line", ['cores = "8-"', 'cores = "8-4"', "cores = -1", 'processes = "2-4"'])
def test_a_range_of_the_catalogue_that_cannot_be_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "solver.toml").write_text(f'command = ["/bin/solver"]\n{line}\n')
    with pytest.raises(UserError, match=r"give a number, or a range|is launched once"):
        Catalogue([tmp_path])


def test_a_model_that_knows_no_more_processors_is_not_asked_for_all_of_them(tmp_path: Path) -> None:
    class UpToEight(Amdahl):
        def _profile(self, hosts: int, ranks: int, hardware: str) -> Profile:
            profile = super()._profile(hosts, ranks, hardware)
            if ranks > 8:
                raise UserError(f"nothing was measured for {ranks}")
            return profile

    model = UpToEight()
    intake = TaskValidator(catalogue(tmp_path / "applications.d"), model, "fast")
    task = intake.task(replace(COMMAND, model="m", hosts=1, cores="4-64"), NODES)
    assert [each.cores for each in task.alternatives] == [4, 6, 8]
    assert model.asked == [4, 6, 8, 12, 16, 24]
    with pytest.raises(UserError, match="nothing was measured for 12"):
        intake.task(replace(COMMAND, model="m", cores="12-64"), NODES)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"processes": 2000}, "2000 processes cannot be divided among 4 hosts"),
        ({"processes": 8, "processes_per_host": 4}, "leave the processes on each host and its cores out"),
        ({"cores": "70-80"}, "no host has 70 cores"),
        ({"processes": 16}, "several numbers of processes on a host"),
        ({"cores": "8-32"}, "several numbers of cores on a host"),
    ],
)
def test_a_run_time_does_not_hide_what_is_wrong_with_the_shapes(
    intake: TaskValidator, asked: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        intake.task(replace(MPI, profile=(60.0,), **asked), NODES)


def test_a_run_time_is_that_of_the_only_shape_there_is(intake: TaskValidator) -> None:
    task = intake.task(replace(MPI, processes=16, hosts="1", profile=(60.0,)), NODES)
    assert (task.spec.cores, task.spec.processes_per_host, task.spec.count) == (16, 16, 1)
    assert task.profile is not None
    assert task.profile.seconds == (60.0,)


def test_figures_for_other_cores_than_asked_for_say_what_to_do(intake: TaskValidator) -> None:
    figures = (ShapeFigure(hosts=1, cores=64, seconds=1800.0),)
    with pytest.raises(UserError, match="for 64 cores of a host, and it is to have 8-32: give one for as many, or ask"):
        intake.task(replace(COMMAND, cores="8-32", shapes=figures), NODES)
