from __future__ import annotations

from cosched.evaluation import functions
from cosched.language.grammar import parser
from cosched.language.hardware_checker import check_config
from cosched.language.names import COLLECTIVES, DEVICES, FUNCTIONS, KEYWORDS, KINDS, MESSAGES, SHARED, TYPES
from cosched.language.parser import parse_hmcl
from cosched.language.source import Source


def test_every_function_that_a_model_may_name_can_be_evaluated() -> None:
    assert set(functions.FUNCTIONS) == set(FUNCTIONS)
    for name, (least, most) in FUNCTIONS.items():
        for count in {least, most}:
            assert isinstance(functions.FUNCTIONS[name](*[2.0] * count), float)


def test_each_group_of_message_costs_belongs_to_a_send_and_a_receive() -> None:
    for group in MESSAGES:
        ends = sorted(device.sends for device in DEVICES.values() if device.group == group)
        assert ends == ([] if group == SHARED else [False, True])
        (config,) = parse_hmcl(Source("x.hmcl", f"config c {{ {group} {{ }} }}"))
        assert "lacks" in check_config(config)[0].message


def test_the_keywords_are_those_of_the_grammar() -> None:
    words = {terminal.pattern.value.removesuffix(r"\b") for terminal in parser("psl").terminals}
    assert {word for word in words if word.isalpha()} | set(KINDS) == set(KEYWORDS)
    assert set(TYPES) < set(KEYWORDS)


def test_a_device_is_either_carried_out_or_expanded() -> None:
    assert not set(DEVICES) & set(COLLECTIVES)
