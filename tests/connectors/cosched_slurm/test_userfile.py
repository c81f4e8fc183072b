"""Batch scripts as sbatch reads them, without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.userfiles import UserFileOrigin
from cosched.errors import UserError
from cosched_slurm.userfile import read

HERE = UserFileOrigin(Path("/home/ann"), {"PATH": "/bin", "TOKEN": "secret", "FOO": "bar"}, "job.sh")


def test_options_are_taken_apart() -> None:
    (job,) = read(
        "#!/bin/sh\n# a comment\n#SBATCH -J mine --nodes=2-4 --ntasks=8 # trailing\n#SBATCH --time 1:00:00\n\n"
        "#SBATCH --gres=gpu:1 -A weather\n#COSCHED --deadline=now+2h --set n=5 --best-effort --retries 2\n"
        "#SBATCH --no-requeue\n"
        "#SBATCHx\ntrue\n#SBATCH -N 9\n",
        HERE,
    )
    assert (job.name, job.hosts, job.time_limit, job.directory) == ("mine", "2-4", 3600.0, "/home/ann")
    assert job.native.settings == {"gres": "gpu:1", "account": "weather", "ntasks-per-node": "2"}
    assert job.requests == (
        ("deadline", "now+2h"),
        ("set", "n=5"),
        ("best-effort", ""),
        ("retries", "2"),
        ("no-requeue", ""),
    )


def test_a_script_names_the_folder_and_the_input_that_must_be_there() -> None:
    (job,) = read("#!/bin/sh\n#SBATCH --chdir=run --input=in.txt\ntrue\n", HERE)
    assert job.files == (("--chdir", "/home/ann/run"), ("--input", "/home/ann/run/in.txt"))
    (numbered,) = read("#!/bin/sh\n#SBATCH --input=in.%j\ntrue\n", HERE)
    assert numbered.files == ()


def test_those_it_comes_after_are_named_once_or_several_times() -> None:
    (job,) = read("#!/bin/sh\n#COSCHED --after=17 --after 18,19\n#COSCHED --after='20 21'\n", HERE)
    assert job.after == ("17", "18", "19", "20", "21")


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        ("", {"PATH": "/bin"}),
        ("--export=NONE", {}),
        ("--export=FOO,X=1", {"FOO": "bar", "X": "1"}),
        ("--export=ALL,X=a=b", {"PATH": "/bin", "X": "a=b"}),
        ("--export=UNSET", {}),
    ],
)
def test_the_environment_is_what_the_script_asks_for(export: str, expected: dict[str, str]) -> None:
    (job,) = read(f"#!/bin/sh\n#SBATCH {export}\n" if export else "#!/bin/sh\n", HERE)
    assert job.environment == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "#!/bin/sh\n#SBATCH -x node01\n",
            r"job.sh:2: .*--exclude names hosts, and cosched chooses them",
        ),
        ("#!/bin/sh\n#SBATCH --nodelist=node99\n", r"--nodelist names hosts, and cosched chooses them: leave it out"),
        ("echo", r"is not a batch script"),
        ("#!/bin/sh\r\n", "DOS"),
        ("#!/bin/sh\n#SBATCH --uid=0\n", r"job.sh:2: .*--uid"),
        ("#!/bin/sh\n#SBATCH -J 'open\n", r"job.sh:2: .*quot"),
        ("#!/bin/sh\n#SBATCH --nodes\n", r"job.sh:2: --nodes lacks"),
        ("#!/bin/sh\n#SBATCH --nodes=4-2\n", "--nodes=4-2"),
        ("#!/bin/sh\n#SBATCH --nodes=0\n", "--nodes=0"),
        ("#!/bin/sh\n#SBATCH -N2 --ntasks=x\n", "--ntasks=x"),
        ("#!/bin/sh\n#SBATCH --array=5-1\n", "--array=5-1"),
        ("#!/bin/sh\n#SBATCH --export=A-B=1\n", "variable 'A-B'"),
        ("#!/bin/sh\n#COSCHED --deadlin=1\n", r"job.sh:2: #COSCHED has '--deadlin=1'"),
        ("#!/bin/sh\n#COSCHED --best-effort=yes\n", "takes no value"),
        ("#!/bin/sh\n#COSCHED --deadline\n", "lacks its value"),
        ("#!/bin/sh\n#COSCHED --after=\n", "lacks its value"),
        ("#!/bin/sh\n#SBATCH --qos=a\u202eb\n", "qos contains"),
    ],
)
def test_what_cannot_be_taken_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        read(text, HERE)
    assert "\n" not in str(refusal.value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for head in ("", "#!/bin/sh\n#SBATCH "):
        try:
            jobs = read(head + text, HERE)
        except UserError:
            continue
        assert jobs[0].native.script == head + text
