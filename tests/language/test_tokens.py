from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.language.tokens import LINE_WIDTH, Token, interrupted, reindented, spaced, tokens, unbroken, wrapped

if TYPE_CHECKING:
    from types import FrameType
    from typing import Protocol

    class TraceFunction(Protocol):
        def __call__(self, frame: FrameType, event: str, argument: object, /) -> TraceFunction: ...


def test_comments_stand_above_or_behind_a_token() -> None:
    text = "(* a *) (* b *)\nx (* c *) = (* d\n *) (* e *)\n(* f *) 1; (* g *)\n(* h *)"
    found = tokens(text)
    assert [token.text for token in found] == ["x", "=", "1", ";", ""]
    assert [token.before for token in found] == [("(* a *)", "(* b *)"), (), ("(* f *)",), (), ("(* h *)",)]
    assert [token.after for token in found] == [("(* c *)",), ("(* d\n *)", "(* e *)"), (), ("(* g *)",), ()]


@pytest.mark.timeout(120)  # it takes milliseconds, or, where a number can be read in many ways, hours
def test_a_number_of_very_many_digits_keeps_nobody_waiting() -> None:
    assert [token.kind for token in tokens("9" * 200_000 + " y")] == ["quantity", "name", "end"]


def test_a_quantity_is_one_token_with_one_space() -> None:
    assert [token.text for token in tokens("12us 3.2 \t GB/s 5 * s 1e3ms .5")] == [
        "12 us",
        "3.2 GB/s",
        "5",
        "*",
        "s",
        "1e3 ms",
        ".5",
        "",
    ]


def test_comments_and_texts_hide_each_others_marks() -> None:
    assert [token.kind for token in tokens('"(*" x "*)"')] == ["string", "name", "string", "end"]
    assert tokens('(* " *) x')[0] == Token("name", "x", ('(* " *)',))


def shown(text: str) -> str:
    line = tokens(text)[:-1]
    return "".join(" " * space + token.text for token, space in zip(line, spaced(line), strict=True))


def test_spaces_between_tokens() -> None:
    assert shown("x=-f( a,-b )*( c-1 )^-2 ;") == "x = -f(a, -b) * (c - 1) ^ -2;"
    assert shown("return-1 ;") == "return -1;"
    assert shown("confdev-1,( 2 ),v [ 3 ];") == "confdev -1, (2), v[3];"
    assert shown("confdev( p-1 )%n;") == "confdev (p - 1) % n;"
    assert shown("if( !a&&-b<is )") == "if (!a && -b < is)"
    assert shown("compute<is clc,2 * AFDG,( n*2 )*MFDG>;") == "compute <is clc, 2*AFDG, (n * 2)*MFDG>;"
    assert shown("compute<is measured,n*1.5us>;") == "compute <is measured, n * 1.5 us>;"
    assert shown("compute<is memory,n*8B,( n-1 )*8>;") == "compute <is memory, n * 8 B, (n - 1) * 8>;"


def lines(text: str, indent: int = 4, further: int = 4) -> list[str]:
    return wrapped(tokens(text)[:-1], indent, further)


LONG = "a_name_of_thirty_characters_so"


def test_breaks_after_a_comma_where_it_nests_least() -> None:
    call = f"f({LONG}, {LONG})"
    assert lines(f"confdev {call}, {call}, {LONG};") == [f"    confdev {call},", f"        {call}, {LONG};"]


@pytest.mark.parametrize("operator", ["||", "<", "+"])
def test_breaks_before_the_operator_that_binds_least(operator: str) -> None:
    product = f"{LONG} * {LONG}"
    assert lines(f"x = {product} {operator} {product};") == [f"    x = {product}", f"        {operator} {product};"]


def test_breaks_within_brackets_only_where_nothing_else_is_left() -> None:
    assert lines(f"x = f({LONG}, {LONG}, {LONG}, {LONG});") == [
        f"    x = f({LONG}, {LONG}, {LONG},",
        f"        {LONG});",
    ]


def test_what_cannot_be_broken_stays_whole() -> None:
    text = '"' + "x" * 200 + '"'
    assert lines(f"a = {text}, b = {text};") == ["    a =", f"        {text},", "        b =", f"        {text};"]


def test_a_comment_does_not_begin_a_line() -> None:
    """It would then count as one that stands above what follows."""
    first, second = lines(f"x = {LONG} + {LONG} (* {'why ' * 15}*) + {LONG};")
    assert first.endswith("why *)")
    assert second == f"        + {LONG};"


@given(st.lists(st.sampled_from(["x", LONG, "+", "*", ",", "(", ")", "f", "12 us", "-"]), min_size=1, max_size=60))
def test_no_token_is_lost_and_no_line_too_long_that_could_be_broken(words: list[str]) -> None:
    line = tokens(" ".join(words))[:-1]
    broken = wrapped(line, 4, 4)
    assert [token.text for token in tokens("\n".join(broken))] == [*(token.text for token in line), ""]
    assert all(len(shown) <= LINE_WIDTH or " " not in shown.strip() for shown in broken)


def test_one_line_if_it_fits_whatever_comment_is_behind_it() -> None:
    words = tokens(f"if (x) return {'1' * 100}; (* a long\n comment *)")[:-1]
    assert unbroken([words[:4], words[4:]], 3) == [
        f"   if (x) return {'1' * 100}; (* a long",
        " " * 122 + "comment *)",
    ]
    assert unbroken([words[:4], words[4:]], 6) is None
    within = tokens("if (x) (* c *) return 1;")[:-1]
    assert interrupted(within)
    assert unbroken([within], 0) is None


def test_the_lines_of_a_comment_keep_their_shape() -> None:
    comment = "(* head  \n       item 1\n\n         part\n   *)"
    shown = "(* head\n     item 1\n\n       part\n  *)"
    assert reindented(comment, 2) == shown
    assert reindented(shown, 2) == shown


def test_comments_behind_one_another_do_not_stand_further_in_without_end() -> None:
    """A text of 200 KB would be laid out as one of a gigabyte."""
    lines = wrapped(tokens("call f" + "(* c\n*)" * 2_000 + ";")[:-1], 0, 4)
    assert max(map(len, "\n".join(lines).splitlines())) < 2 * LINE_WIDTH


def test_a_long_line_without_a_place_to_break_takes_no_longer_for_each_token() -> None:
    def steps(count: int) -> int:
        """Return how many lines of code it takes: no clock, whose machine may be busy with something else."""
        line = tokens("x = " + "(" * count + "1" + ")" * count + ";")[:-1]
        taken = 0

        def trace(_frame: FrameType, _event: str, _argument: object) -> TraceFunction:
            nonlocal taken
            taken += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            wrapped(line, 0, 4)
        finally:
            sys.settrace(before)
        return taken

    assert steps(20_000) < 12 * steps(2_000)
