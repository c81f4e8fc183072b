from __future__ import annotations

from cosched.errors import UserError
from cosched.language import Diagnostic, ModelError
from cosched.language.diagnostics import suggestion


def test_a_fault_is_shown_with_its_line_and_a_caret() -> None:
    fault = Diagnostic("a.psl", 3, 5, "what", "\tabc def")
    assert fault.render() == "a.psl:3:5: what\n   abc def\n      ^"
    assert Diagnostic("a.psl", 3, 5, "what").render() == "a.psl:3:5: what"


def test_long_lines_are_cut_around_the_caret() -> None:
    shown = Diagnostic("a.psl", 1, 5001, "what", "x" * 5000 + "!" + "x" * 5000).render().splitlines()
    assert len(shown[1]) < 200
    assert shown[1][shown[2].index("^")] == "!"


def test_the_error_is_one_line_and_counts_the_rest() -> None:
    first, second = Diagnostic("a.psl", 1, 1, "one"), Diagnostic("a.psl", 2, 1, "two")
    assert str(ModelError([first])) == "a.psl:1:1: one"
    assert str(ModelError([first, second])).startswith("a.psl:1:1: one (and 1 more:")
    assert isinstance(ModelError([first]), UserError)


def test_suggestions_ignore_case() -> None:
    assert suggestion("scale", ["Scale", "other"]) == ": did you mean Scale?"
    assert suggestion("xyz", ["Scale"]) == ""
