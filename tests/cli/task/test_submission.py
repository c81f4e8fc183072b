from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.cli.main import run
from cosched.cli.task.options import SubmitOptions
from cosched.cli.task.submission import request_of, requests_of_file, time_limit_note
from cosched.connector.userfiles import UserJob
from cosched.connector.values import NativeDescription
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("runtime", "hosts", "profile"),
    [
        ("30m", "", (1800.0,)),
        ("1h30m", "1", (5400.0,)),
        ("00:30:00", "", (1800.0,)),
        ("30m", "4", (None, None, None, 1800.0)),
        ("2:30m,4:16m", "", (None, 1800.0, None, 960.0)),
        ("4:30m", "4", (None, None, None, 1800.0)),
        ("1:90, 2:50", "1-2", (90.0, 50.0)),
    ],
)
def test_a_run_time_as_people_say_it_is_a_profile(runtime: str, hosts: str, profile: tuple[float | None, ...]) -> None:
    request, _ = request_of(SubmitOptions(runtime=runtime, hosts=hosts), ("/bin/true",), NOW)
    assert request.profile == profile


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (SubmitOptions(cores="0"), "--cores is '0': ask for more, leave it out for what the site has set"),
        (SubmitOptions(memory="0"), "--memory is '0': ask for more"),
        (SubmitOptions(memory="0.0G"), "--memory is '0.0G': ask for more"),
        (SubmitOptions(processes="00"), "--processes is '00': ask for more"),
        (SubmitOptions(memory_per_process="0M"), "--memory-per-process is '0M'"),
        (SubmitOptions(cores_per_process="0"), "--cores-per-process is '0'"),
    ],
)
def test_a_need_of_nothing_is_not_taken_for_no_wish(options: SubmitOptions, says: str) -> None:
    with pytest.raises(UserError, match=says):
        request_of(options, ("/bin/true",), NOW)
    assert request_of(SubmitOptions(memory="0.5G", cores="10", gpus="0"), ("/bin/true",), NOW)[0].cores == 10


@pytest.mark.parametrize(
    ("limit", "runtime", "says"),
    [
        ("10s", "1m", "it may be ended after 10 s, its time limit, and is to run 1 min: raise --time-limit"),
        ("10s", "1x8:1m,1x16:40s", "is to run 40 s"),
        ("50s", "1:1m,2:40s", ""),  # it may end in time on two hosts
        ("1m", "1m", ""),
        ("10s", "", ""),
        ("", "1m", ""),
    ],
)
def test_a_time_limit_below_the_run_time_is_told(limit: str, runtime: str, says: str) -> None:
    request, _ = request_of(SubmitOptions(time_limit=limit, runtime=runtime), ("/bin/true",), NOW)
    note = time_limit_note(request)
    assert says in note if says else not note


def test_a_time_limit_of_a_file_below_the_run_time_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.sh"
    file.write_text("#!/bin/sh\n#SBATCH --time=00:01:00\nsleep 90\n")
    monkeypatch.setenv("COSCHED_SERVER", f"unix:{tmp_path}/nobody.sock")
    run(["task", "submit", "--file", str(file), "--runtime", "90s", "--dry-run"])
    assert "it may be ended after 1 min, its time limit, and is to run 1 min 30 s" in capsys.readouterr().err


def test_a_range_of_hosts_the_wrong_way_round_is_said_to_be_one() -> None:
    """It was asked on how many hosts the run time is."""
    with pytest.raises(UserError, match="--hosts is '3-1': write the smaller number first"):
        request_of(SubmitOptions(hosts="3-1", runtime="1m"), ("/bin/true",), NOW)


def test_a_model_of_ones_own_travels_with_the_task(tmp_path: Path) -> None:
    (tmp_path / "heat.psl").write_text("application heat {}")
    options = SubmitOptions(model=str(tmp_path / "heat.psl"), settings=("nx=500",))
    request, _ = request_of(options, ("/bin/true",), NOW)
    assert (request.model, request.parameters) == ("application heat {}", {"nx": "500"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (SubmitOptions(model="nowhere.psl"), "cannot be read"),
        (SubmitOptions(model="heat.psl", runtime="30m"), "leave --runtime and --profile out"),
        (SubmitOptions(retries="many"), "--retries is 'many': write a number"),
        (SubmitOptions(retries="-1"), "--retries is '-1': write a number from 0 on"),
        (SubmitOptions(priority="high"), "--priority is 'high': write a number, such as 5 or -5"),
        (SubmitOptions(priority="+-1"), "--priority is"),
        (SubmitOptions(cores="1.5"), "--cores is"),
        (SubmitOptions(cores="-4"), "--cores is '-4': write a number, or a range such as 8-32"),
        (SubmitOptions(processes="8-x"), "--processes is '8-x': write a number, or a range"),
        (SubmitOptions(runtime="30m", hosts="0"), "--hosts is '0': give a number from 1"),
        (SubmitOptions(memory="much"), "write 4G, 512M"),
        (SubmitOptions(runtime="30m", hosts="2-8"), "is a time on how many hosts"),
        (SubmitOptions(runtime="soon"), "--runtime: 'soon' is not a duration"),
        (SubmitOptions(runtime="2:soon"), "--runtime: 'soon' is not a duration"),
        (SubmitOptions(runtime="1x2:soon"), "--runtime: 'soon' is not a duration"),
        (SubmitOptions(time_limit="soon"), "--time-limit: 'soon' is not a duration"),
        (SubmitOptions(elastic="restart", grace="soon"), "--grace: 'soon' is not a duration"),
        (SubmitOptions(elastic="restart", restart_cost="-5s"), "--restart-cost: '-5s' is not a duration"),
        (SubmitOptions(runtime="4:"), "is not understood: write 30m"),
        (SubmitOptions(runtime="0:30m"), "is not understood"),
        (SubmitOptions(runtime="x:30m"), "is not understood"),
        (SubmitOptions(runtime="999999999:30m"), "is not understood"),
        (SubmitOptions(runtime="30m,1h"), "is not understood"),
        (SubmitOptions(runtime="00:99:00"), "is not a time"),
        (SubmitOptions(runtime="0s"), "has a time of 0"),
        (SubmitOptions(runtime="30m", profile="10"), "give one of them"),
    ],
)
def test_an_option_that_says_nothing_is_refused(options: SubmitOptions, says: str) -> None:
    with pytest.raises(UserError, match=says):
        request_of(options, ("/bin/true",), NOW)


def test_what_a_task_reads_is_there_or_made_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="--stdin data: there is no such file"):
        request_of(SubmitOptions(stdin="data"), ("/bin/cat",), NOW)
    for made in (SubmitOptions(stdin="data", after=["1"]), SubmitOptions(stdin="data", prepare="/bin/true")):
        assert request_of(made, ("/bin/cat",), NOW)[0].stdin == str(tmp_path / "data")
    (tmp_path / "data").touch()
    assert request_of(SubmitOptions(stdin="data"), ("/bin/cat",), NOW)[0].stdin == str(tmp_path / "data")


def test_a_task_runs_in_a_folder_that_is_there_or_made_before_it(tmp_path: Path) -> None:
    where = tmp_path / "run"
    with pytest.raises(UserError, match="run: there is no such folder: make it"):
        request_of(SubmitOptions(directory=str(where)), ("/bin/true",), NOW)
    assert request_of(SubmitOptions(directory=str(where), after=["1"]), ("/bin/true",), NOW)[0].directory == str(where)
    where.mkdir()
    assert request_of(SubmitOptions(directory=str(where)), ("/bin/true",), NOW)[0].directory == str(where)


def test_a_program_that_is_not_executable_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "job"
    file.write_text("#!/bin/sh\n")
    with pytest.raises(UserError, match="is not executable: `chmod"):
        request_of(SubmitOptions(), (str(file),), NOW)
    with pytest.raises(UserError, match="there is no program"):
        request_of(SubmitOptions(), (str(tmp_path / "absent"),), NOW)


@pytest.mark.parametrize(
    ("launch", "mpi", "mode"),
    [("", "", "each"), ("each", "", "each"), ("once", "", "once"), ("", "mpich", "mpich"), ("once", "intel", "intel")],
)
def test_a_program_is_launched_as_the_options_say(launch: str, mpi: str, mode: str) -> None:
    options = SubmitOptions(application="x", launch=launch, mpi=mpi, processes_per_host=3)
    request, _ = request_of(options, (), NOW)
    assert (request.launch, request.processes_per_host) == (mode, 3)


@pytest.mark.parametrize(
    ("launch", "mpi", "words"),
    [
        ("twice", "", "each or once"),
        ("mpi", "", "the kind of MPI: openmpi, mpich, intel"),
        ("mpich", "intel", "each or once"),
        ("", "lam", "openmpi, mpich or intel"),
        ("each", "openmpi", "leave --launch each"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(launch: str, mpi: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        request_of(SubmitOptions(application="x", launch=launch, mpi=mpi), (), NOW)


def test_licences_are_names_with_numbers(tmp_path: Path) -> None:
    request, _ = request_of(SubmitOptions(application="x", licences="matlab:2,ansys"), (), NOW)
    assert request.licences == {"ansys": 1, "matlab": 2}
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#COSCHED --licences=matlab:2\ntrue\n")
    assert requests_of_file(script, SubmitOptions(), NOW)[0][0].licences == {"matlab": 2}
    assert requests_of_file(script, SubmitOptions(licences="ansys"), NOW)[0][0].licences == {"ansys": 1}
    with pytest.raises(UserError, match="'matlab=2' is no licence with a number: write it as matlab:2"):
        request_of(SubmitOptions(application="x", licences="matlab=2"), (), NOW)


def test_words_become_a_request() -> None:
    options = SubmitOptions(
        application="sweep3d",
        deadline="now+1h",
        settings=["nx=50", "title=a=b"],
        hosts="2-4",
        profile="5,-,3",
        name="n",
        environment=["A="],
        time_limit="2m",
        best_effort=True,
        after=["1", "2"],
    )
    request, note = request_of(options, (), NOW)
    assert note == ""
    assert request == TaskRequest(
        application="sweep3d",
        parameters={"nx": "50", "title": "a=b"},
        deadline=NOW + 3600,
        hosts="2-4",
        profile=(5.0, None, 3.0),
        name="n",
        environment={"A": ""},
        best_effort=True,
        time_limit=120.0,
        after=("1", "2"),
    )


def test_a_preparation_is_words_as_a_shell_splits_them() -> None:
    request, _ = request_of(SubmitOptions(application="sweep3d", prepare="/bin/sh -c 'echo $X'"), (), NOW)
    assert request.prepare == ("/bin/sh", "-c", "echo $X")
    for wrong in ("'", " ", "/no/such/program"):
        with pytest.raises(UserError, match=r"prepare|no program"):
            request_of(SubmitOptions(application="sweep3d", prepare=wrong), (), NOW)


def test_a_program_is_found_where_a_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    by_path, _ = request_of(SubmitOptions(), ("./tool", "x"), NOW)
    assert by_path.command == (str(tmp_path / "tool"), "x")
    assert by_path.directory == str(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert request_of(SubmitOptions(), ("tool",), NOW)[0].command == (str(tmp_path / "tool"),)


def test_a_directory_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    from_here, _ = request_of(SubmitOptions(application="sweep3d", directory="runs"), (), NOW)
    assert from_here.directory == str(tmp_path / "runs")
    assert request_of(SubmitOptions(application="sweep3d"), (), NOW)[0].directory == ""


@pytest.mark.parametrize("setting", ["nx", "=5", ""])
def test_a_setting_needs_a_name_and_a_value(setting: str) -> None:
    with pytest.raises(UserError, match="is not NAME=VALUE"):
        request_of(SubmitOptions(application="sweep3d", settings=[setting]), (), NOW)


def test_a_variable_without_a_value_is_that_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPAL_PREFIX", "/opt/my=mpi")
    monkeypatch.delenv("NOWHERE", raising=False)
    request, _ = request_of(SubmitOptions(application="heat", environment=["OPAL_PREFIX", "A=", "B=1=2"]), (), NOW)
    assert request.environment == {"OPAL_PREFIX": "/opt/my=mpi", "A": "", "B": "1=2"}
    with pytest.raises(UserError, match="--env 'NOWHERE': it has no value here: leave it out, or write NAME=VALUE"):
        request_of(SubmitOptions(application="heat", environment=["NOWHERE"]), (), NOW)
    with pytest.raises(UserError, match="--env '=1' is not NAME=VALUE"):
        request_of(SubmitOptions(application="heat", environment=["=1"]), (), NOW)


SCRIPT = "#!/bin/sh\n#SBATCH -N2-4 -J night --time=10\n#COSCHED --deadline=now+2h --profile=9,5,4,3\ntrue\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(SCRIPT)
    return tmp_path / "job.sh"


def test_a_script_is_one_request_with_all_its_wishes(script: Path) -> None:
    (request,), _ = requests_of_file(script, SubmitOptions(), NOW)
    assert (request.name, request.hosts, request.time_limit) == ("night", "2-4", 600.0)
    assert (request.deadline, request.profile) == (NOW + 7200, (9.0, 5.0, 4.0, 3.0))
    assert request.directory == str(script.parent)
    assert request.native is not None
    assert request.native.script == SCRIPT


def test_the_command_line_wins(script: Path) -> None:
    options = SubmitOptions(
        deadline="now+1h",
        hosts="3",
        name="mine",
        time_limit="1m",
        application="sweep3d",
        after=["7"],
        notify=["ada@example.org"],
    )
    (request,), _ = requests_of_file(script, options, NOW)
    assert (request.deadline, request.hosts, request.name, request.time_limit) == (NOW + 3600, "3", "mine", 60.0)
    assert request.after == ("7",)
    assert request.notify == ("mailto:ada@example.org",)
    assert request.application == "sweep3d"


def test_an_array_is_as_many_requests(script: Path) -> None:
    script.write_text("#!/bin/sh\n#SBATCH --array=0-9\ntrue\n")
    requests, _ = requests_of_file(script, SubmitOptions(), NOW)
    assert [request.environment["SLURM_ARRAY_TASK_ID"] for request in requests] == list("0123456789")


def test_a_file_names_those_it_comes_after_and_the_command_line_more(script: Path) -> None:
    script.write_text("#!/bin/sh\n#SBATCH --array=0-1\n#COSCHED --after=3 --after 4,5\ntrue\n")
    requests, _ = requests_of_file(script, SubmitOptions(after=["7", "4"]), NOW)
    assert [request.after for request in requests] == [("3", "4", "5", "7")] * 2


def test_what_nothing_heeds_in_a_file_is_noted(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [UserJob(NativeDescription("slurm", {}), ("/bin/true",), hosts="1", remark="nothing uses x")] * 2
    monkeypatch.setattr("cosched.cli.task.submission.load_user_file_reader", lambda _: lambda *_: jobs)
    assert requests_of_file(script, SubmitOptions(), NOW)[1] == "nothing uses x"


def test_a_file_that_names_what_is_not_there_is_refused_unless_a_task_before_may_make_it(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = UserJob(NativeDescription("slurm", {}), ("/bin/true",), hosts="1", files=(("input", str(script) + ".in"),))
    jobs = [job]
    monkeypatch.setattr("cosched.cli.task.submission.load_user_file_reader", lambda _: lambda *_: jobs)
    with pytest.raises(UserError, match=r"job\.sh: input names .*job\.sh\.in, which is not there: .*--after"):
        requests_of_file(script, SubmitOptions(), NOW)
    assert requests_of_file(script, SubmitOptions(after=["7"]), NOW)[0][0].after == ("7",)
    jobs[:] = [replace(job, requests=(("after", "7"),))]
    assert requests_of_file(script, SubmitOptions(), NOW)[0][0].after == ("7",)
    jobs[:] = [replace(job, files=(("executable", str(script)), ("initialdir", str(script.parent))))]
    assert len(requests_of_file(script, SubmitOptions(), NOW)[0]) == 1


def test_a_preparation_beside_a_file_is_refused(script: Path) -> None:
    with pytest.raises(UserError, match="--prepare"):
        requests_of_file(script, SubmitOptions(prepare="/bin/true"), NOW)


def test_what_a_file_needs_stands_in_the_file(script: Path) -> None:
    script.write_text("#!/bin/sh\n#SBATCH --mem=2G --cpus-per-task=3\ntrue\n")
    (request,), _ = requests_of_file(script, SubmitOptions(), NOW)
    assert (request.memory, request.cores) == (2048, 3)
    with pytest.raises(UserError, match="a file says itself what its job needs"):
        requests_of_file(script, SubmitOptions(cores="2"), NOW)


def test_a_file_and_a_command_are_too_much(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["task", "submit", "--file", str(script), "--", "/bin/true"]) == 1
    assert "not both" in capsys.readouterr().err


def test_an_array_of_a_script_keeps_its_indices(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH --array=3-7:2%2\n#COSCHED --retries=2 --priority=-1\ntrue\n")
    requests, _ = requests_of_file(script, SubmitOptions(priority="4"), NOW)
    assert [(each.array_index, each.retries, each.priority) for each in requests] == [(3, 2, 4), (5, 2, 4), (7, 2, 4)]
    assert {each.array_at_most for each in requests} == {2}


def test_workers_are_words_as_a_shell_splits_them() -> None:
    options = SubmitOptions(elastic="workers", worker="/bin/sh -c 'echo {lead}' {worker}", grace="2m", hosts="2-4")
    request, _ = request_of(options, ("/bin/sh",), NOW)
    assert request.elastic == ElasticRequest(worker=("/bin/sh", "-c", "echo {lead}", "{worker}"), grace=120.0)
    assert request_of(SubmitOptions(), ("/bin/sh",), NOW)[0].elastic is None


def test_a_program_that_checkpoints_may_say_what_a_restart_costs() -> None:
    options = SubmitOptions(elastic="restart", grace="2m", restart_cost="90s", force_stop=True, hosts="2-4")
    request, _ = request_of(options, ("/bin/sh",), NOW)
    assert request.elastic == ElasticRequest(kind="restart", grace=120.0, cost=90.0, force=True)
    assert request_of(SubmitOptions(elastic="restart"), ("/bin/sh",), NOW)[0].elastic == ElasticRequest(kind="restart")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SubmitOptions(worker="/bin/sh"), "give --elastic workers with them"),
        (SubmitOptions(grace="2m"), "give --elastic workers with them"),
        (SubmitOptions(elastic="restarts", worker="/bin/sh"), "write workers or restart"),
        (SubmitOptions(elastic="restart", worker="/bin/sh"), "leave --worker out"),
        (SubmitOptions(elastic="workers", worker="/bin/sh", restart_cost="2m"), "are of --elastic restart"),
        (SubmitOptions(restart_cost="2m"), "give --elastic restart with them"),
        (SubmitOptions(force_stop=True), "give --elastic restart with them"),
        (SubmitOptions(elastic="workers"), "needs --worker"),
        (SubmitOptions(elastic="workers", worker=" "), "--worker is empty"),
        (SubmitOptions(elastic="workers", worker="'/bin/sh"), "close its quotes"),
        (SubmitOptions(elastic="workers", worker="/no/such/program"), "there is no program"),
    ],
)
def test_workers_that_cannot_be_say_what_would_do(options: SubmitOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        request_of(options, ("/bin/sh",), NOW)


def test_a_script_on_dask_is_an_elastic_task(tmp_path: Path) -> None:
    script = tmp_path / "sums.py"
    script.touch()
    request, _ = request_of(SubmitOptions(dask=str(script), hosts="2-4", grace="1m"), ("20", "--fast"), NOW)
    assert request.command == (sys.executable, "-m", "cosched.dask.lead", str(script), "20", "--fast")
    assert request.elastic == ElasticRequest(
        worker=(sys.executable, "-m", "cosched.dask.worker", "{lead}", "{worker}"), grace=60.0
    )
    assert request.name == "sums.py"
    named, _ = request_of(SubmitOptions(dask=str(script), name="sums"), (), NOW)
    assert (named.name, named.command[4:]) == ("sums", ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SubmitOptions(dask="nowhere.py"), "there is no such file: give a Python script"),
        (SubmitOptions(dask=__file__, elastic="workers"), "leave APP, --elastic and --worker out"),
        (SubmitOptions(dask=__file__, worker="/bin/sh"), "leave APP, --elastic and --worker out"),
        (SubmitOptions(dask=__file__, application="fft"), "leave APP, --elastic and --worker out"),
    ],
)
def test_a_script_on_dask_that_cannot_be_says_what_would_do(options: SubmitOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        request_of(options, (), NOW)


def test_a_batch_script_is_not_run_on_dask(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/sh\ntrue\n")
    with pytest.raises(UserError, match="a file describes one job"):
        requests_of_file(tmp_path / "job.sh", SubmitOptions(dask=__file__), NOW)


def test_without_dask_a_script_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.client.dask_commands.find_spec", lambda _name: None)
    with pytest.raises(UserError, match=r"pip install 'cosched\[dask\]'"):
        request_of(SubmitOptions(dask=__file__), (), NOW)
