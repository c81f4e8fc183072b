from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.modelling.derivation.sizes import FEWEST_RUNS, draw_sizes, parse_sizes


def test_values_are_ranges_steps_factors_and_lists() -> None:
    nx, n, k, steps = parse_sizes("nx=16..20 n=16..128:*2 k=3,9,5 steps=10")
    assert (nx.values, n.values, k.values, steps.values) == ((16, 17, 18, 19, 20), (16, 32, 64, 128), (3, 5, 9), (10,))
    assert parse_sizes("n=4..11:3")[0].values == (4, 7, 10)
    assert nx.dense
    assert not n.dense


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no parameter"),
        ("nx", "is no NAME=VALUES"),
        ("nx=", "is no NAME=VALUES"),
        ("nx=a..b", "is no NAME=VALUES"),
        ("nx=1.5", "is no NAME=VALUES"),
        ("nx=9..3", "runs nowhere"),
        ("nx=0..8:*2", "runs nowhere"),
        ("nx=1..9999999999", "runs nowhere"),
        ("nx=1..999999999", "has more than 100000 values: give it a :STEP"),
        ("nx=1..9 nx=3..4", "nx is there twice"),
        ("loop=1..9", "'loop' cannot name a parameter"),
        ("Nproc=0..9", "a run has 1 to 64 processes"),
        ("n-x=1..9", "'n-x' cannot name a parameter"),
        (" ".join(f"n{place}=1..9" for place in range(9)), "9 parameters are more than 8"),
    ],
)
def test_what_is_no_list_of_sizes_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match="--sizes") as caught:
        parse_sizes(text)
    assert message in str(caught.value)


def test_sizes_too_few_to_tell_anything_are_refused() -> None:
    with pytest.raises(UserError, match=r"one size only, which cannot tell how the counts grow.*nx=7\.\.21"):
        draw_sizes(parse_sizes("nx=7 ny=3"), 16)
    with pytest.raises(UserError, match="4 different sizes: give at least 5"):
        draw_sizes(parse_sizes("nx=1,2 ny=1,2"), 16)


@given(st.integers(2, 40), st.integers(0, 60), st.integers(0, 60), st.integers(FEWEST_RUNS, 20), st.integers(0, 9))
def test_drawn_sizes_differ_and_keep_to_their_values(least: int, wide: int, also: int, runs: int, seed: int) -> None:
    parameters = parse_sizes(f"nx={least}..{least + wide + 5} ny={least}..{least + also + 1} n=4,8,16")
    drawn = draw_sizes(parameters, runs, seed)
    assert (
        len({tuple(size.items()) for size in drawn})
        == len(drawn)
        == min(runs, math.prod(len(each.values) for each in parameters))
    )
    for each in parameters:
        assert {size[each.name] for size in drawn} <= set(each.values)
        assert len({size[each.name] for size in drawn}) > 1
    assert draw_sizes(parameters, runs, seed) == drawn
