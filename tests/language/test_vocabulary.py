from __future__ import annotations

import pytest

from cosched.language import OPCODES, arithmetic
from cosched.language.checks.hardware import check_config
from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_hmcl
from cosched.language.parser.parser_tables import parser
from cosched.language.vocabulary import (
    COLLECTIVES,
    DEVICES,
    FUNCTION_ARITIES,
    KEYWORDS,
    MESSAGE_GROUPS,
    OBJECT_KINDS,
    SHARED_MEMORY_GROUP,
    TUNABLE_WORDS,
    VARIABLE_TYPES,
    quantity,
    unknown_opcode,
)


def test_every_function_that_a_model_may_name_can_be_evaluated() -> None:
    assert set(arithmetic.FUNCTIONS) == set(FUNCTION_ARITIES)
    for name, (least, most) in FUNCTION_ARITIES.items():
        for count in {least, most}:
            assert isinstance(arithmetic.FUNCTIONS[name](*[2.0] * count), float)


def test_each_group_of_message_costs_belongs_to_a_send_and_a_receive() -> None:
    for group in MESSAGE_GROUPS:
        ends = sorted(device.sends for device in DEVICES.values() if device.group == group)
        assert ends == ([] if group == SHARED_MEMORY_GROUP else [False, True])
        (config,) = parse_hmcl(Source("x.hmcl", f"config c {{ {group} {{ }} }}"))
        assert "lacks" in check_config(config)[0].message


def test_the_keywords_are_those_of_the_grammar() -> None:
    words = {terminal.pattern.value.removesuffix(r"\b") for terminal in parser("psl").terminals}
    words -= {"block", *TUNABLE_WORDS}  # which may be names, too
    assert {word for word in words if word.isidentifier()} | set(OBJECT_KINDS) == set(KEYWORDS)
    assert set(VARIABLE_TYPES) < set(KEYWORDS)


def test_a_device_is_either_carried_out_or_expanded() -> None:
    assert not set(DEVICES) & set(COLLECTIVES)


PAPERS = "CMLL LFOR AFDG SILL TFDL MFSG DILG INLL ANLL ORCG ARD3 ARDN POD1 POL1 IFBR SWCH LWHI LDOW FCAL FARD SQRT"


@pytest.mark.parametrize("opcode", PAPERS.split())
def test_opcodes_of_the_papers_are_known(opcode: str) -> None:
    assert OPCODES[opcode]


def test_every_opcode_has_four_letters() -> None:
    assert {len(opcode) for opcode in OPCODES} == {4}


def test_near_matches_are_named() -> None:
    assert "CMLL" in unknown_opcode("CMLX")
    assert unknown_opcode("????") == "unknown opcode ????"


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
