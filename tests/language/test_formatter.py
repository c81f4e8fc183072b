from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.language import ModelError, Source, default_library, parse_hmcl, parse_psl
from cosched.language.formatter import format_source

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

FILES = sorted(path for root in default_library() for path in root.rglob("*.*"))


def formatted(text: str, file: str = "x.psl") -> str:
    return format_source(Source(file, text))


def meaning(text: str, file: str) -> str:
    """Return the syntax tree as text, without positions."""
    tree = (parse_hmcl if file.endswith(".hmcl") else parse_psl)(Source(file, text))
    return re.sub(r"Position\(line=\d+, column=\d+\)", "", repr(tree))


MESSY = """

application   a{
include b ;
(* a comment
     kept as it is *)
  var numeric:x=1 in(0,5  ms),y= - 2;   (* at the end *)


  link{b:x=x*( y+1 ),
  z = -x;}
proc exec init{
for(x=1;x<=3;x=x+1)
for(y=1;y<3;y=y+1)
step cpu on x{confdev f( x )%2;}
if(!x&&y>2){return -1;}else call b;
}
proc cflow w{
loop(<is clc,LFOR,2 * CMLL,(x+1) * AFDL>,x){compute <is measured,12  us>;}
}
}
"""

CANONICAL = """\
application a {
    include b;
    (* a comment
     kept as it is *)
    var numeric: x = 1 in (0, 5 ms), y = -2; (* at the end *)

    link { b: x = x * (y + 1),
            z = -x; }
    proc exec init {
        for (x = 1; x <= 3; x = x + 1)
            for (y = 1; y < 3; y = y + 1)
                step cpu on x { confdev f(x) % 2; }
        if (!x && y > 2) { return -1; } else call b;
    }
    proc cflow w {
        loop (<is clc, LFOR, 2*CMLL, (x + 1)*AFDL>, x) { compute <is measured, 12 us>; }
    }
}
"""


def test_canonical_layout() -> None:
    assert formatted(MESSY) == CANONICAL


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_layout_of_the_library_keeps_its_meaning_and_comments_and_is_final(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    once = formatted(text, path.name)
    assert meaning(once, path.name) == meaning(text, path.name)
    assert formatted(once, path.name) == once
    comments = r"\(\*[\s\S]*?\*\)"
    assert re.findall(comments, once) == re.findall(comments, text)
    assert once == text, "the library shows the layout"


@settings(deadline=None)
@given(st.sampled_from([path for path in FILES if path.suffix == ".psl"]), st.randoms(use_true_random=True))
def test_any_spacing_of_a_model_keeps_its_meaning(path: Path, random: Random) -> None:
    text = path.read_text(encoding="utf-8")
    # Spaces outside texts, comments and before units may be any.
    spaced = re.sub(
        r"\"[^\"\n]*\"|\(\*[\s\S]*?\*\)|(?<![0-9]) ",
        lambda found: random.choice([" ", " ", "  ", "\n", "\t"]) if found[0] == " " else found[0],
        text,
    )
    once = formatted(spaced)
    assert meaning(once, path.name) == meaning(spaced, path.name)
    assert formatted(once) == once


def test_a_text_with_faults_is_refused() -> None:
    with pytest.raises(ModelError, match="did you mean include"):
        formatted("application a { incude b; }")
