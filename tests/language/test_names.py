from __future__ import annotations

from cosched.language import arithmetic
from cosched.language.checks.hardware import check_config
from cosched.language.diagnostics import Source
from cosched.language.parser.grammar import parser
from cosched.language.parser.parse import parse_hmcl
from cosched.language.vocabulary import (
    COLLECTIVES,
    DEVICES,
    FUNCTION_ARITIES,
    KEYWORDS,
    MESSAGE_GROUPS,
    OBJECT_KINDS,
    SHARED_MEMORY_GROUP,
    VARIABLE_TYPES,
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
    assert {word for word in words if word.isalpha()} | set(OBJECT_KINDS) == set(KEYWORDS)
    assert set(VARIABLE_TYPES) < set(KEYWORDS)


def test_a_device_is_either_carried_out_or_expanded() -> None:
    assert not set(DEVICES) & set(COLLECTIVES)
