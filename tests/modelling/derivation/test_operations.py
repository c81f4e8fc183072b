from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation import load, load_hardware, profile
from cosched.language import OPCODES, check_files, default_library, format_source, read
from cosched.language.library import locate
from cosched.modelling.derivation import DerivationRequest, derive
from cosched.modelling.derivation.operations import looping, operations_of
from tests.modelling.derivation.programs import FILTER, LAPLACE, build_command, coverage_reader, written

if TYPE_CHECKING:
    from pathlib import Path

STENCIL = """#include <stdlib.h>
#include <math.h>
static float *u;
int main(int c, char **v) {
  int n = atoi(v[1]);
  u = calloc(n, sizeof *u);
  double sum = 0;
  for (int i = 1; i < n; i++) {
    u[i] = u[i - 1] * 0.5f + 1;
    sum += sqrt(sum);
    if (i % 3)
      sum = sum / 3;
  }
  return sum < 0;
}
"""
WORDS = st.sampled_from(
    [
        *("_1", "_2", "i_3", "ly.4_5", "g", "*_6", "p_7(D)->x", "(*v_8(D))[_9]", "a[i_3][_1]", "MEM[(double *)_2]"),
        *("1.5e+0", "-1", "(double) i_3", "ABS_EXPR <_1>", "f (_1, g)", "sqrt (_2)", "{CLOBBER}", "if (_1 < i_3)"),
        *("=", "+", "*", "/[fl]", "<", ";", "[x.c:3:4] ", "[x.c:5:6] *_6 = _1;", "(", "]", "# _1 = PHI <_2(3)>"),
    ]
)
LINES = st.lists(WORDS, max_size=6).map(lambda words: "  [x.c:1:2] " + " ".join(words) + ";")
HEADS = st.sampled_from(["void f (int i, double * p)", "{", "  <bb 2> :", "  int _1;", "  double * _6;", "}", ""])


def test_an_index_belongs_to_its_reference_and_a_loop_has_turns(tmp_path: Path) -> None:
    found = derive(_request(written(tmp_path, "stencil.c", STENCIL), "n=20..90"))
    (loop,) = [each for each in found.stated() if "for (" in found.quoted(each.block)]
    done = dict(loop.operations)
    assert 0.5 < done.pop("DFDL") < 0.8  # what two turns of three do grows alike
    body = {"ARF1": 2, "MFFL": 1, "AFFL": 1, "SFFL": 1, "SQRT": 1, "AFDL": 1, "DIIL": 1, "CMIL": 2, "IFBR": 1}
    assert done == {**body, "AIIL": 1, "LFOR": 1}


def test_the_model_costs_what_the_hardware_says_of_its_operations(tmp_path: Path) -> None:
    found = derive(_request(written(tmp_path, "stencil.c", STENCIL), "n=20..90"))
    path = written(tmp_path, "stencil.psl", found.psl())
    assert check_files([path], default_library()) == []
    assert format_source(read(path)) == found.psl()
    assert "Costs are from operation counts" in found.psl()
    hardware = load_hardware(locate("x86_64_gigabit", ".hmcl", "hardware", default_library()))
    wanted = sum(
        often * hardware.operations[name] * float(each.formula.value({"n": 10_000}))
        for each in found.stated()
        for name, often in each.operations.items()
    )
    (seconds,) = profile(load(path), hardware, [1], parameters={"n": 10_000.0})
    assert seconds == pytest.approx(wanted / 1e6, rel=1e-3)  # factors have four digits


def test_fortran_tells_its_operations_too(tmp_path: Path) -> None:
    source = written(tmp_path, "laplace.f90", LAPLACE)
    build, gcov = build_command("fortran"), coverage_reader("fortran")
    found = derive(
        DerivationRequest([source], "nx=8..40 ny=8..40 steps=3..20", build=build, gcov=gcov, operations=True)
    )
    inner = next(each for each in found.blocks if "v(i, j) = " in found.quoted(each.block))
    least = {"ARD1": 5, "AFDL": 3, "MFDL": 1, "SFDL": 1}  # and those of what grows alike
    assert all(inner.operations[name] >= often for name, often in least.items())


def test_a_program_in_python_has_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a program in Python has none: leave it out"):
        derive(DerivationRequest([written(tmp_path, "filter.py", FILTER)], "n=5..30 turns=2..9", operations=True))


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("for (i = 0; i < n; i++)", "LFOR"),
        ("  while (left)", "LWHI"),
        ("DO i = 1, n", "LFOR"),
        ("if (a) b = c;", "IFBR"),
        ("dot(a)", "IFBR"),
    ],
)
def test_a_branch_of_a_loop_is_its_turn(text: str, branch: str) -> None:
    assert looping({"IFBR": 1, "CMIL": 1}, text) == {branch: 1, "CMIL": 1}


@given(st.lists(LINES | HEADS, max_size=30).map("\n".join) | st.text())
def test_whatever_a_compiler_writes_becomes_opcodes(dump: str) -> None:
    for (_file, line), done in operations_of(dump).items():
        assert line >= 0
        assert done.keys() <= OPCODES.keys()
        assert all(often > 0 for often in done.values())


def _request(source: Path, sizes: str) -> DerivationRequest:
    return DerivationRequest([source], sizes, build=build_command(), gcov=coverage_reader(), operations=True)
