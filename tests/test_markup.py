from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from cosched.markup import environment


def test_a_value_cannot_leave_its_place() -> None:
    shown = environment().from_string('<a title="{{ text }}">{{ text }}</a>').render(text='"><script>&')
    assert shown == '<a title="&#34;&gt;&lt;script&gt;&amp;">&#34;&gt;&lt;script&gt;&amp;</a>'


def test_what_a_value_becomes_is_escaped_as_well() -> None:
    assert environment(lambda value: f"<{value}>").from_string("{{ x }}").render(x="x") == "&lt;x&gt;"


def test_a_template_that_wants_more_than_it_is_given_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ missing }}").render()


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1.5, "1.5"), (100.0, "100"), (-0.126, "-0.13"), (1e6, "1000000")]
)
def test_coordinates_are_short(value: float, text: str) -> None:
    assert environment().from_string("{{ value | n }}").render(value=value) == text
