"""Submit files: interpreted aside, confined, and told about in one line where they are at fault."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import HostShare
from cosched.connector.userfiles import UserFileOrigin, UserJob
from cosched.errors import UserError
from cosched_condor import userfile

pytestmark = pytest.mark.daemon


def _read(folder: Path, text: str, **environment: str) -> list[UserJob]:
    return userfile.read(text, UserFileOrigin(folder, environment, "job.sub"))


def test_wishes_and_variables_are_taken_apart(tmp_path: Path) -> None:
    (job,) = _read(
        tmp_path,
        'executable = prog\n+CoschedDeadline = "now+2h"\nMY.CoschedHosts = "1-4"\n+CoschedBestEffort = true\n'
        "+CoschedSet_Scale = 2\nrequest_gpus = 1\ngetenv = A*, !AB\ninitialdir = run\nmax_retries = 2\nqueue\n",
        A="1",
        AB="2",
        AC="3",
        B="4",
    )
    assert job.command == (str(tmp_path / "prog"),)
    assert job.native.settings == {"executable": str(tmp_path / "prog"), "request_gpus": "1"}
    requests = {
        "deadline": "now+2h",
        "hosts": "1-4",
        "best-effort": "",
        "set": "Scale=2",
        "retries": "2",
    }
    assert dict(job.requests) == requests
    assert (job.environment, job.directory, job.hosts) == ({"A": "1", "AC": "3"}, str(tmp_path / "run"), "")


def test_requests_in_the_words_of_adopted_jobs_are_requests_too(tmp_path: Path) -> None:
    """They were taken for macros of the file's own: the task had no deadline, and nobody was told."""
    commands = "cosched_deadline = now+2h\ncosched_hosts = 2-4\ncosched_runtime = 2:30m,4:18m\ncosched_priority = 3\n"
    more = 'cosched_best_effort = true\ncosched_name = "night"\ncosched_licences = matlab:2\ncosched_set_Scale = 2\n'
    (job,) = _read(tmp_path, f"executable = /bin/true\n{commands}{more}queue\n")
    assert dict(job.requests) == {
        "deadline": "now+2h",
        "hosts": "2-4",
        "runtime": "2:30m,4:18m",
        "priority": "3",
        "best-effort": "",
        "name": "night",
        "licences": "matlab:2",
        "set": "Scale=2",
    }
    assert (job.hosts, job.native.settings) == ("", {"executable": "/bin/true"})


@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        ("reqest_cpus = 4", "job.sub: nothing uses reqest_cpus: did you mean request_cpus?"),
        ("Reqest_Memory = 4G\nouput = x", "nothing uses ouput: did you mean output?"),
        ("argument = 4\narguments = $(argument)", ""),  # a macro of the file's own
        ("colour = blue\ncosched_name = x\nrequest_cpus = 4\nrequest_fpgas = 1\nmax_retries = 1", ""),
    ],
)
def test_a_misspelt_command_that_nothing_uses_is_told(tmp_path: Path, lines: str, remark: str) -> None:
    """It was taken for a macro without a word, where condor_submit warns: the job had one core."""
    jobs = _read(tmp_path, f"executable = /bin/true\n{lines}\nqueue 2\n")
    assert len(jobs) == 2
    assert remark in jobs[0].remark
    assert bool(remark) == bool(jobs[0].remark)


def test_an_included_file_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^job\.sub: HTCondor cannot read it .* have each included file there$"):
        _read(tmp_path, "executable = /bin/true\ninclude : /no/such/file\nqueue\n")


def test_a_job_names_the_files_that_must_be_there(tmp_path: Path) -> None:
    lines = "executable = prog\ninitialdir = run\ninput = in.txt\ntransfer_input_files = a, /b ,https://x/c,$(Process).d,$(Cluster).e"
    (job,) = _read(tmp_path, f"{lines}\nqueue\n")
    assert job.files == (
        ("initialdir", str(tmp_path / "run")),
        ("executable", str(tmp_path / "prog")),
        ("input", str(tmp_path / "run/in.txt")),
        ("transfer_input_files", str(tmp_path / "run/a")),
        ("transfer_input_files", "/b"),
        ("transfer_input_files", str(tmp_path / "run/0.d")),
    )
    left = "transfer_executable = false\ntransfer_input = False\ninput = x"
    assert _read(tmp_path, f"executable = /opt/prog\n{left}\nqueue\n")[0].files == ()
    (contained,) = _read(tmp_path, "universe = docker\ndocker_image = debian\nexecutable = /bin/true\nqueue\n")
    assert contained.files == ()


def test_hold_in_a_file_is_refused_where_it_would_be_lost(tmp_path: Path) -> None:
    """The job of a file with `hold = true` ran at once."""
    with pytest.raises(UserError, match=r"job\.sub: hold = true .* `cosched task hold`"):
        _read(tmp_path, "executable = /bin/true\nhold = true\nqueue\n")
    assert len(_read(tmp_path, "executable = /bin/true\nhold = False\nqueue\n")) == 1


@pytest.mark.parametrize(
    ("commands", "needs"),
    [
        ("request_cpus = 4\nrequest_memory = 2 GB\nrequest_gpus = 1", HostShare(2048, 4, 1)),
        ("request_memory = 1500", HostShare(1500, 1)),  # HTCondor gives it one core, so it leaves the others
        ("", HostShare(0, 1)),
        ("request_cpus = 1 + 1\nrequest_memory = MY.Size", HostShare()),
    ],
)
def test_what_a_job_requests_is_what_its_task_takes_of_a_host(tmp_path: Path, commands: str, needs: HostShare) -> None:
    (job,) = _read(tmp_path, f"executable = /bin/true\n{commands}\nqueue\n")
    assert job.needs == needs


def test_jobs_that_are_made_late_are_an_array_of_which_so_many_run_at_once(tmp_path: Path) -> None:
    jobs = _read(tmp_path, "executable = /bin/true\nmax_materialize = 2\nmax_idle = 5\nqueue 3\n")
    assert [job.array for job in jobs] == [(0, 2), (1, 2), (2, 2)]
    with pytest.raises(UserError, match="max_materialize is 'none'"):
        _read(tmp_path, "executable = /bin/true\nmax_materialize = none\nqueue 3\n")


@pytest.mark.parametrize(("value", "requests"), [("true", (("no-requeue", ""),)), ("false", ())])
def test_a_flag_is_asked_for_where_it_is_true(
    tmp_path: Path, value: str, requests: tuple[tuple[str, str], ...]
) -> None:
    (job,) = _read(tmp_path, f"executable = /bin/true\n+CoschedNoRequeue = {value}\nqueue\n")
    assert job.requests == requests


@pytest.mark.parametrize(("value", "after"), [('"1, 2"', ("1", "2")), ("17", ("17",))])
def test_those_it_comes_after_are_named(tmp_path: Path, value: str, after: tuple[str, ...]) -> None:
    (job,) = _read(tmp_path, f"executable = /bin/true\n+CoschedAfter = {value}\nqueue\n")
    assert job.after == after


def test_the_parallel_universe_is_one_task_on_as_many_hosts(tmp_path: Path) -> None:
    (job,) = _read(tmp_path, "universe = parallel\nexecutable = /bin/mpi\nmachine_count = 4\nqueue\n")
    assert (job.hosts, job.native.settings["universe"]) == ("4", "parallel")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("executable = /x\nqueue\nqueue 2\n", "job.sub:3: a second queue"),
        ("executable = /x\nqueue 0\n", "queues 0"),
        ("executable = /x\nqueue 4294967295\n", "queues 4294967295"),
        ("executable = /x\nqueue -5\n", "queues -5"),
        ("executable = /x\nqueue x from (\n)\n", "nothing to queue"),
        ("executable\nqueue\n", "job.sub: "),
        ("arguments = 1\nqueue\n", "no executable"),
        ("executable = /x\nuniverse = grid\nqueue\n", "universe 'grid'"),
        ("executable = /x\narguments = $ENV(NOT_THERE)\nqueue\n", r"\$ENV\(NOT_THERE\)"),
        ("executable = /x\n+CoschedDeadlin = 1\nqueue\n", r"\+CoschedDeadlin is unknown"),
        ("executable = /x\ncosched_deadlin = 1\nqueue\n", "cosched_deadlin is unknown"),
        ("executable = /x\narguments = a\u202eb\nqueue\n", "arguments contains"),
        ("executable = /x\nuniverse = parallel\nmachine_count = none\nqueue\n", "machine_count"),
        ("executable = /x\nrequest_cpus = 0\nqueue\n", "request_cpus is 0: ask for 1 or more"),
        ("executable = /x\nrequest_memory = 1X\nqueue\n", "request_memory is '1X': write 4G"),
        ("executable = /x\ninclude command : yes\nqueue\n", "job.sub: "),
    ],
)
def test_what_cannot_be_taken_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        _read(tmp_path, text)
    assert "\n" not in str(refusal.value)


def test_a_command_that_waits_is_ended_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userfile, "_SECONDS", 3.0)
    script = tmp_path / "wait"
    script.write_text("#!/bin/sh\nsleep 60 &\necho $! > child\nsleep 60\n")
    script.chmod(0o755)
    with pytest.raises(UserError, match="was not interpreted within 3 s"):
        _read(tmp_path, f"executable = /x\ninclude command : {script}\nqueue\n")
    if (tmp_path / "child").exists():  # on a busy machine it may not have got as far
        until(lambda: (tmp_path / "child").read_text().strip() not in _living())


def _living() -> set[str]:
    """Return the numbers of all processes that are no zombies."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cmdline").read_bytes():
                found.add(entry.name)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "include : /etc/hostname",
        "include command : id",
        "include \\",
        "x = 1 \\",
        "queue x from /etc/hostname",
        "queue from id |",
        "queue matching *",
        "use template : x",
        "x = $ENV(HOME)",
        "if true",
        "x @=end",
        "queue $(N)",
    ],
)
def test_a_file_from_elsewhere_reaches_nothing(tmp_path: Path, line: str) -> None:
    """Whatever is uploaded is read with nobody's rights but its text's own."""
    place = UserFileOrigin(tmp_path, {}, "job.sub", trusted=False)
    assert userfile.read("executable = /x\n# include\n+CoschedHosts = 2\n\nqueue 1\n", place)
    with pytest.raises(UserError, match="reach beyond the file"):
        userfile.read(
            f"executable = /x\n{line}\nqueue\n" if "queue" not in line else f"executable = /x\n{line}\n", place
        )
