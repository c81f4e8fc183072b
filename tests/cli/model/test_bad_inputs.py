"""What people give the commands of models by mistake ends in one line that says what to do, and writes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.measurement.programs.records import ObservedRun, record_line
from tests.testbed.software.compiler import compiler, coverage_reader

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "n,hosts,seconds\n"
REST = "200,1,2\n400,1,4.1\n"
RECORD = ObservedRun("app", "sha256:0", {"n": 8.0}, 1, 1, "", 0.0, 1.0, (1.0,), 0.0, 1 << 20, shim=False, calls=0)


def one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must refuse, and return its only line; what it says of its progress ends with seconds."""
    assert run(words) == 1
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line[-2:] != " s"]
    assert len(lines) == 1, lines
    assert lines[0].startswith("cosched: ")
    assert "Traceback" not in said.out
    return lines[0]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cosched.measurement.programs.observing.shim_library", lambda: None)
    return tmp_path


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "no column of run times: name one `seconds`"),
        (HEAD, "has no runs below its head"),
        ("n,hosts,time\n100,1,1\n", "no column of run times: name one `seconds`"),
        ("n,n,seconds\n100,1,1\n", "n is named twice"),
        ("n\x07,hosts,seconds\n100,1,1\n", "is no name of PSL"),
        ("n*),hosts,seconds\n100,1,1\n", "is no name of PSL"),
        (f"{HEAD}100,1,0\n{REST}", ":2: a run time of 0 s cannot be"),
        (f"{HEAD}100,1,-1\n{REST}", ":2: a run time of -1 s cannot be"),
        (f"{HEAD}100,1,nan\n{REST}", ":2: seconds is nan: write a finite number"),
        (f"{HEAD}100,1,1e308\n{REST}", ":2: seconds is 1e308: write a finite number up to"),
        (f"{HEAD}100,1,1 min\n{REST}", ":2: seconds is '1 min': write a number"),
        (f"{HEAD}100,1\n{REST}", ":2: it has 2 values and the head has 3 names"),
        (f"{HEAD}100,1,1\n100,1,1.1\n", "run another size (a constant model was not written)"),
        ("n,m,hosts,seconds\n1,2,1,1\n2,4,1,2\n4,8,1,4\n8,16,1,8\n", "n and m vary together"),
        ("n,m,k,hosts,seconds\n1,2,7,1,1\n2,9,1,1,2\n", "fewer than the terms of 3 parameters that vary"),
        ("n;hosts;seconds\n100;1;1,5\n", ":2: seconds is '1,5': write a number"),
        ("n,hosts,wall KiB\n100,1,1\n", "no column of run times: name one `seconds`"),
        ("n,hosts,wall parsec\n100,1,1\n", "unit parsec of wall is not known"),
        ("n ms,hosts,seconds\n1,1,1\n", "several columns of times: n, seconds"),
        (f"{HEAD}100,0,1\n{REST}", ":2: hosts is 0: write a whole number from 1"),
        (f"{HEAD}100,1.5,1\n{REST}", ":2: hosts is 1.5: write a whole number from 1"),
        ("n,processors,hosts,seconds\n1,1,2,1\n", "keep one of hosts and processors"),
        ("n,hosts,seconds,class\n1,1,1,a\n2,1,2,b\n", "several classes of hosts (a, b): choose one with --class"),
        ("n,hosts,seconds\n-2,1,2\n1,1,1\n2,1,1\n", "n varies and is -2 in a run: only what is above 0 can be fitted"),
        (HEAD + "".join(f"{n},1,{n}\n" for n in range(1, 100_002)), "has more than 100,000 runs: keep the newest"),
    ],
)
def test_a_table_from_which_no_model_can_be_made(
    table: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "runs.csv").write_text(table)
    assert message in one_line(["model", "fit", "app", "--table", "runs.csv"], capsys)
    assert not (here / "app.psl").exists()


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("{}\n", ":1: "),
        ('{"rubbish": 1}\n', ":1: this is no record of a run"),
        ("[1]\n", ":1: "),
        ("nonsense\n", ":1: "),
        (record_line(replace(RECORD, wall=-1.0)), ":1: "),
        (record_line(replace(RECORD, application="other")), "no record is of app: they are of other"),
        (record_line(replace(RECORD, delay=0.9)), "waited for processors that others kept busy"),
        (record_line(RECORD), "one size"),
        (record_line(replace(RECORD, hardware="a")) + record_line(replace(RECORD, hardware="b")), "several classes"),
    ],
)
def test_records_from_which_no_model_can_be_made(
    records: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "runs.jsonl").write_text(records)
    assert message in one_line(["model", "fit", "app", "runs.jsonl"], capsys)
    assert not (here / "app.psl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "sh", "-c", "exit 3"], "ended with code 3"),
        (["--", "sh", "-c", "kill -ABRT $$"], "was ended by SIGABRT"),
        (["--limit", "0.2s", "--", "sleep", "60"], "--limit"),
        (["--limit", "0", "--", "true"], "--limit 0: give a time above 0"),
        (["--limit", "soon", "--", "true"], "is not a duration"),
        (["--", "./nothing"], "./nothing: there is no such program"),
        (["--", "./source.c"], "./source.c may not be executed: chmod +x it"),
        (["--set", "n=nan", "--", "true"], "--set 'n=nan': write a finite number"),
        (["--set", "n=1e999", "--", "true"], "write a finite number"),
        (["--set", "n=big", "--", "true"], "--set 'n=big': write NAME=NUMBER"),
        (["--set", "n=1,2", "--", "true"], "--set n: a run has one value of it"),
        (["--set", "n*)=1", "--", "true"], "--set: 'n*)' is no name of PSL"),
        (["--set", "loop=1", "--", "true"], "--set: loop means something else in PSL: call it loop_"),
        (["--set", "Nproc=1", "--", "true"], "--set: Nproc means something else in PSL"),
        (["--sweep", "case=1,2", "--", "echo", "{case}"], "--sweep: case means something else in PSL"),
        (["--sweep", "n=1,2", "--", "true"], "no word of the command has {n}"),
        (["--sweep", "n=1..1e9", "--", "echo", "{n}"], "--sweep 'n=1..1e9': more than 10000 values"),
        (["--sweep", "n=1..9000", "--repeat", "2", "--", "echo", "{n}"], "give 1 to 10,000 runs"),
        (["--application", "a\x07b", "--", "true"], "control characters"),
        (["--class", "node\n", "--", "true"], "control characters"),
        (["--class", "a*)", "--", "true"], "--class 'a*)' cannot stand in a model: leave out '(*', '*)', quotes"),
        (["--out", "no/such.jsonl", "--", "true"], "no/such.jsonl cannot be written"),
        ([], "give a command after --"),
        (["--collect", "."], "no task has left anything in .: submit some with `cosched task submit --observe`; where"),
        (["--collect", "nowhere"], "nowhere cannot be read"),
    ],
)
def test_a_run_that_teaches_nothing(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "source.c").write_text("int main(void) { return 0; }")
    assert message in one_line(["model", "observe", *words], capsys)
    assert not (here / "runs.jsonl").exists()


@pytest.mark.parametrize(
    ("source", "words", "message"),
    [
        ("int main(void) { return nothing }", [], "does not compile the sources"),
        ("#include <stdlib.h>\nint main(int c, char **v) { if (atoi(v[1]) > 5) abort(); }", [], "was ended by SIGABRT"),
        ("#include <unistd.h>\nint main(void) { return pause(); }", ["--limit", "0.3s"], "--limit"),
        ("int main(void) { return 0; }", ["--build", "nothing {sources} -o {program}"], "nothing"),
        ("int main(void) { return 0; }", ["--gcov", "nothing"], "--gcov: there is no program 'nothing'"),
        (
            "int main(void) { return 0; }",
            ["--operations", "--build", f"{compiler()} -O0 --coverage {{sources}} -o {{program}}"],
            "--operations: the compiler wrote none: give gcc or gfortran, with {flags} and -o {program}, in --build",
        ),
    ],
)
def test_a_source_that_cannot_be_counted(
    source: str,
    words: list[str],
    message: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", compiler())
    (here / "app.c").write_text(source)
    given = words if "--gcov" in words else [*words, "--gcov", coverage_reader()]
    build = [] if "--build" in words else ["--build", f"{compiler()} {{flags}} {{sources}} -o {{program}}"]
    told = one_line(["model", "derive", "app.c", "--sizes", "n=4..9", "--run", "{program} {n}", *build, *given], capsys)
    assert message in told
    assert not (here / "app.psl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "one.hmcl", "two.hmcl"], "one.samples.json cannot be read (No such file or directory)"),
        (["compare", "noise.json", "two.hmcl"], "noise.json cannot be read (it is no text)"),
        (["compare", "empty.json", "two.hmcl"], "empty.json holds no samples"),
        (["measure", "x", "--samples", "empty.json"], "empty.json holds no samples"),
        (["measure", "a/b"], "'a/b' cannot name a resource model"),
        (["measure", "x", "--cc", "nothing"], "the C compiler 'nothing' cannot be run: install one"),
    ],
)
def test_measurements_that_are_none(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "noise.json").write_bytes(b"\xb2\xff")
    (here / "empty.json").write_text("{}")
    assert message in one_line(["hardware", *words], capsys)
    assert not [*here.glob("*.hmcl")]


def test_files_that_are_not_there_or_no_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "noise.jsonl").write_bytes(b"\xb2\xff")
    assert "none.jsonl cannot be read (No such file or directory)" in one_line(
        ["model", "fit", "app", "none.jsonl"], capsys
    )
    assert "noise.jsonl is no text" in one_line(["model", "fit", "app", "noise.jsonl"], capsys)
