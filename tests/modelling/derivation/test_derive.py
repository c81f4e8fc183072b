"""Real programs are compiled, run and counted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from cosched.errors import UserError
from cosched.evaluation import load, load_hardware, profile
from cosched.language import check_files, default_library, format_source, read
from cosched.language.library import locate
from cosched.modelling.derivation import Derivation, DerivationRequest, derive
from cosched.modelling.derivation.expressions import evaluate
from tests.modelling.derivation.programs import (
    FILTER,
    LAPLACE,
    POLYNOMIAL,
    SHARE,
    TEMPLATES,
    THREADS,
    build_command,
    coverage_reader,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

_SHARED = pytest.mark.xdist_group("derived-polynomial")  # derived once
_MAIN = """#include "part.h"
#include <stdlib.h>
int main(int c, char **v) { return part(atoi(v[2])); }
"""
_PART = """#include "part.h"
int part(int n) {
  int k = 0;
  for (int i = 0; i < n; i++)
    k++;
  return k < 0;
}
"""


def derived(path: Path, sizes: str, **options: Any) -> Derivation:
    compiled = {} if path.suffix == ".py" else {"build": build_command(), "gcov": coverage_reader()}
    return derive(DerivationRequest([path], sizes, **{"runs": 12, **compiled, **options}))


def formulas(found: Derivation) -> dict[str, str]:
    return {found.lines(each.block): each.formula.text() for each in found.blocks}


@pytest.fixture(scope="module")
def polynomial(tmp_path_factory: pytest.TempPathFactory) -> Derivation:
    path = written(tmp_path_factory.mktemp("polynomial"), "smooth.c", POLYNOMIAL)
    return derived(path, "nx=10..40 ny=10..40 steps=3..20")


@_SHARED
def test_blocks_of_c_are_solved_even_two_on_a_line(polynomial: Derivation) -> None:
    assert all(each.formula.exact for each in polynomial.blocks)
    found = {text: evaluate(text, {"nx": 1000, "ny": 300, "steps": 10}) for text in formulas(polynomial).values()}
    assert {998 * 298 * 10, 998 * 10, 1000 * 300, 300 * 3, 10} == set(found.values())
    body = next(each for each in polynomial.blocks if each.formula.value({"nx": 3, "ny": 3, "steps": 1}) == 1)
    assert polynomial.lines(body.block) == "smooth.c:7"
    assert polynomial.quoted(body.block) == "for (int j = 1; j < ny - 1; j++) sum += u[i * ny + j];"


@_SHARED
def test_the_model_stands_and_counts(polynomial: Derivation, tmp_path: Path) -> None:
    path = written(tmp_path, "smooth.psl", polynomial.psl())
    assert check_files([path], default_library()) == []
    assert format_source(read(path)) == polynomial.psl()
    hardware = load_hardware(locate("x86_64_gigabit", ".hmcl", "hardware", default_library()))
    size = {"nx": 500.0, "ny": 400.0, "steps": 100.0}
    seconds = profile(load(path), hardware, [1], parameters=size)[0]
    counts = [each.formula.value({"nx": 500, "ny": 400, "steps": 100}) for each in polynomial.blocks if not each.small]
    assert seconds == pytest.approx(float(sum(counts)) * 1e-9, rel=1e-9)


def test_blocks_of_python_are_solved(tmp_path: Path) -> None:
    found = derived(written(tmp_path, "filter.py", FILTER), "n=5..30 turns=2..9")
    assert all(each.formula.exact for each in found.blocks)
    counts = {found.lines(each.block): each for each in found.blocks}
    assert counts["filter.py:6"].formula.value({"n": 100, "turns": 3}) == 3 * 101  # once more for the loop's end
    assert [each.calls for each in counts.values() if not each.like and each.calls] == [["sum"]]


def test_blocks_of_fortran_are_solved_with_loops_over_arrays(tmp_path: Path) -> None:
    source = written(tmp_path, "laplace.f90", LAPLACE)
    build, gcov = build_command("fortran"), coverage_reader("fortran")
    found = derived(source, "nx=8..40 ny=8..40 steps=3..20", build=build, gcov=gcov)
    assert all(each.formula.exact for each in found.blocks)
    size = {"nx": 100, "ny": 50, "steps": 10}
    totals = [each for each in found.blocks if "sum(u)" in found.quoted(each.block)]
    inner = next(each for each in found.blocks if "v(i, j) = " in found.quoted(each.block))
    assert inner.formula.value(size) in (98 * 48 * 10, 99 * 48 * 10)
    assert 100 * 50 * 2 in [each.formula.value(size) for each in totals]
    assert {each.block.places[0].function for each in found.blocks} == {"relax", "MAIN"}


def test_lines_that_would_end_a_comment_of_the_model_do_not(tmp_path: Path) -> None:
    text = POLYNOMIAL.replace("u[i] = i % 7;", "*(&u[i]) = (*abs)(i) * (double)(*u), /* (* \u00e9 *) */ sum *= (*u);")
    found = derived(written(tmp_path, "pointers.c", text), "nx=10..40 ny=10..40 steps=3..20")
    assert "(*abs)" in " ".join(found.quoted(each.block) for each in found.blocks)
    path = written(tmp_path, "pointers.psl", found.psl())
    assert check_files([path], default_library()) == []
    assert format_source(read(path)) == found.psl()


def test_functions_of_cpp_have_their_names(tmp_path: Path) -> None:
    source = written(tmp_path, "total.cpp", TEMPLATES)
    found = derived(source, "n=10..40 m=10..50", build=build_command("c++"), gcov=coverage_reader("c++"))
    assert {each.block.places[0].function for each in found.blocks} == {"total", "main"}
    assert found.blocks[0].formula.value({"n": 5, "m": 7}) == 5 * 5 + 5 * 7


def test_work_of_threads_is_counted_as_that_of_one(tmp_path: Path) -> None:
    source = written(tmp_path, "threads.c", THREADS)
    found = derived(source, "n=8..40 m=8..40", build=build_command("c", "-lgomp"))
    assert found.blocks[0].formula.value({"n": 100, "m": 7}) == 100 * 99 // 2 * 7


def test_processes_share_the_work_evenly_in_the_model(tmp_path: Path) -> None:
    source = written(tmp_path, "share.c", SHARE)
    start = written(
        tmp_path,
        "start",
        "#!/bin/sh\nranks=$1 program=$2; shift 2\nfor rank in $(seq 0 $((ranks - 1))); do\n"
        '  $program $rank $ranks "$@" &\ndone\nwait\n',
    )
    start.chmod(0o755)
    found = derived(source, "Nproc=1..4 n=10..60 steps=3..20", run=f"{start} {{Nproc}} {{program}} {{n}} {{steps}}")
    assert [each.formula.text() for each in found.blocks] == ["n * steps", "Nproc * steps", "Nproc"]
    model = written(tmp_path, "share.psl", found.psl())
    assert check_files([model], default_library()) == []
    hardware = load_hardware(locate("x86_64_gigabit", ".hmcl", "hardware", default_library()))
    one, four = profile(load(model), hardware, [1, 4], parameters={"n": 1e6, "steps": 100.0})
    assert one / four == pytest.approx(4, rel=1e-3)


def test_blocks_that_grow_alike_have_one_cost(tmp_path: Path) -> None:
    text = POLYNOMIAL.replace("u[j] += 1;", "u[j] += 1;\n for (int k = 0; k < 3; k++)\n  u[j] -= k;\n")
    found = derived(written(tmp_path, "alike.c", text), "nx=10..40 ny=10..40 steps=3..20")
    (head, other) = [each for each in found.blocks if "ceil(steps / 4)" in each.formula.text()]
    assert (head.like, other.like) == ("", head.block.name)
    assert head.formula.text().startswith("3 * ")
    assert f"alike {other.formula.text()}: alike.c:" in found.psl()
    assert other not in found.stated()


def test_counts_that_depend_on_data_are_marked(tmp_path: Path) -> None:
    text = POLYNOMIAL.replace("sum += smooth", "if ((s + nx) * 7919 % 101 > 50)\n    sum += 2;\n    sum += smooth")
    found = derived(written(tmp_path, "data.c", text), "nx=10..40 ny=10..40 steps=3..20")
    (approximate,) = [each for each in found.blocks if not each.formula.exact]
    assert approximate.note.startswith("depends on data")
    assert approximate.formula.error > 0


def test_functions_that_call_themselves_are_named(tmp_path: Path) -> None:
    text = """#include <stdlib.h>
int fib(int n) {
  if (n < 2)
    return n;
  return fib(n - 1) + fib(n - 2);
}
int main(int argc, char **argv) { return fib(atoi(argv[1])) < 0; }
"""
    found = derived(written(tmp_path, "fib.c", text), "n=3..18")
    assert {each.note for each in found.blocks if not each.formula.exact} == {"fib calls itself"}


def test_counts_that_differ_between_equal_runs_are_marked(tmp_path: Path) -> None:
    text = """#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int turns = 0;
  for (long i = 0; i < now.tv_nsec % 1000 + 100 * atoi(argv[1]); i++)
    turns++;
  for (int i = 0; i < atoi(argv[1]); i++)
    turns--;
  return turns < 0;
}
"""
    found = derived(written(tmp_path, "clock.c", text), "n=30..180")
    first, second = found.blocks
    assert (first.note, first.formula.exact) == ("differs between equal runs", False)
    assert (second.note, second.formula.text()) == ("", "n")


def test_sources_in_a_folder_with_spaces_and_a_build_of_ones_own(tmp_path: Path) -> None:
    folder = tmp_path / "my sources"
    folder.mkdir()
    main = written(folder, "main.c", _MAIN)
    part = written(folder, "part.c", _PART)
    written(folder, "part.h", "int part(int n);\n")
    found = derive(
        DerivationRequest(
            [main, part], "n=3..30", "both", build_command(), "{program} -n {n}", coverage_reader(), runs=8
        )
    )
    assert formulas(found) == {"part.c:4-5": "n"}
    assert found.application == "both"


@pytest.mark.parametrize(
    ("text", "sizes", "options", "message"),
    [
        ("int main( { }", "n=1..9", {}, r"does not compile the sources: .*bad\.c:1.* error: "),
        (POLYNOMIAL, "nx=3..9", {}, r"bad at nx=\d ended with 2: nx ny steps: choose --sizes and --run"),
        (
            "#include <unistd.h>\nint main(void) { return pause(); }",
            "n=1..9",
            {"limit": 0.5},
            r"did not end within 0\.5 s",
        ),
        ("int main(void) { volatile int *p = 0; return *p; }", "n=1..9", {}, r"was ended by SIGSEGV"),
        ("#include <unistd.h>\nint main(void) { _exit(0); }", "n=1..9", {}, "wrote no counts"),
        ("int main(void) { return 0; }", "n=1..9", {}, "no count depends on n: are they its arguments"),
        (POLYNOMIAL, "nx=1..9", {"build": "no-such-compiler {sources}"}, "'no-such-compiler' cannot be run"),
        (POLYNOMIAL, "nx=1..9", {"build": "true {sources}"}, r"--build made no \{program\}: name with --run"),
        (POLYNOMIAL, "nx=1..9", {"build": "echo 'x {sources}"}, "--build .* cannot be read"),
        (POLYNOMIAL, "nx=1..9", {"gcov": "no-such-gcov"}, "there is no program 'no-such-gcov'"),
        (POLYNOMIAL, "nx=1..9 ny=1..9", {"run": "{program} {nx}"}, r"--run lacks \{ny\}: every parameter"),
        (POLYNOMIAL, "nx=1..9", {"run": "{program} {n}"}, r"--run: \{n\} is not known: there are \{program\}"),
        (POLYNOMIAL, "nx=1..9", {"run": "{program} {nx} {"}, "--run .* cannot be read"),
        (POLYNOMIAL, "nx=1..9", {"run": "{program} {nx:d}"}, r"--run: '\{nx:d\}' cannot be filled in"),
        (POLYNOMIAL, "nx=1..9", {"run": "no-such-program {nx}"}, "there is no program 'no-such-program'"),
        (POLYNOMIAL, "nx=1..9", {"application": "2d"}, "'2d' cannot name a model"),
        (POLYNOMIAL, "nx=1..9", {"application": "loop"}, "'loop' cannot name a model"),
        (POLYNOMIAL, "nx=1..9", {"application": "halo"}, "'halo' cannot name a model"),
        (POLYNOMIAL, "Nproc=1..2 npe_i=1..9", {}, "npe_i is a side of the processes' grid in models: call it npe_i_"),
        (POLYNOMIAL, "nx=1..9", {"runs": 3}, "--runs 3: from 5 to 100"),
        (POLYNOMIAL, "nx=1..9", {"limit": -1.0}, "--limit -1"),
    ],
)
def test_what_cannot_be_counted_is_told_in_a_line(
    text: str, sizes: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        derived(written(tmp_path, "bad.c", text), sizes, **options)
    assert "\n" not in str(caught.value)


def test_counts_of_another_build_are_refused(tmp_path: Path) -> None:
    source = written(tmp_path, "twice.c", POLYNOMIAL)
    # Each run rebuilds the notes behind the program's back.
    other = written(tmp_path, "other.c", POLYNOMIAL.replace("steps = ", "more = 3, steps = "))
    again = written(
        tmp_path,
        "again",
        f"#!/bin/sh\ncd $(dirname $1)\ncp {other} {source}\n"
        f"{build_command().format(flags='-O0 -g --coverage', sources=source, program='unused')}\n"
        'cp unused-twice.gcno program-twice.gcno\nexec "$@"\n',
    )
    again.chmod(0o755)
    with pytest.raises(UserError, match="its counts are of another build"):
        derived(source, "nx=10..40 ny=10..40 steps=3..20", run=f"{again} {{program}} {{nx}} {{ny}} {{steps}}")


def test_sources_that_cannot_be_counted_are_refused(tmp_path: Path) -> None:
    c, python = written(tmp_path, "a.c", POLYNOMIAL), written(tmp_path, "a.py", FILTER)
    for sources, message in (
        ([tmp_path / "none.c"], "cannot be read"),
        ([written(tmp_path, "a.rs", "")], "in no language that can be counted"),
        ([c, python], "is in C and another source is not"),
        ([python, python], "several sources in Python"),
        ([], "0 sources"),
    ):
        with pytest.raises(UserError, match=message):
            derive(DerivationRequest(sources, "n=1..9"))
    with pytest.raises(UserError, match="a program in Python is not built"):
        derive(DerivationRequest([python], "n=1..9 turns=1..3", build="make"))
    with pytest.raises(UserError, match=r"--run lacks \{program\}"):
        derive(DerivationRequest([python], "n=1..9 turns=1..3", run=f"{sys.executable} -c pass {{n}} {{turns}}"))
