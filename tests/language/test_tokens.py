from __future__ import annotations

from cosched.language.tokens import Token, spaced, tokens


def test_comments_stand_above_or_behind_a_token() -> None:
    text = "(* a *) (* b *)\nx (* c *) = (* d\n *) (* e *)\n(* f *) 1; (* g *)\n(* h *)"
    found = tokens(text)
    assert [token.text for token in found] == ["x", "=", "1", ";", ""]
    assert [token.before for token in found] == [("(* a *)", "(* b *)"), (), ("(* f *)",), (), ("(* h *)",)]
    assert [token.after for token in found] == [("(* c *)",), ("(* d\n *)", "(* e *)"), (), ("(* g *)",), ()]


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
