from __future__ import annotations

import pytest

from cosched.language.vocabulary import quantity


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("50 s", 50e6),
        ("12us", 12),
        ("1.5 ms", 1500),
        ("200 ns", 0.2),
        ("2 min", 120e6),
        ("1 h", 3600e6),
        ("8 KiB", 8192),
        ("8 B", 8),
        ("1 MB", 1e6),
        ("3.2 GB/s", 3200),
        ("1 Gbit/s", 125),
        ("1e3 kB", 1e6),
    ],
)
def test_literals_in_base_units(literal: str, value: float) -> None:
    assert quantity(literal)[0] == pytest.approx(value)
