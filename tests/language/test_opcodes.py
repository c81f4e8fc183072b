from __future__ import annotations

import pytest

from cosched.language import OPCODES
from cosched.language.vocabulary import unknown_opcode

PAPERS = "CMLL LFOR AFDG SILL TFDL MFSG DILG INLL ANLL ORCG ARD3 ARDN POD1 POL1 IFBR SWCH LWHI LDOW FCAL FARD SQRT"


@pytest.mark.parametrize("opcode", PAPERS.split())
def test_opcodes_of_the_papers_are_known(opcode: str) -> None:
    assert OPCODES[opcode]


def test_every_opcode_has_four_letters() -> None:
    assert {len(opcode) for opcode in OPCODES} == {4}


def test_near_matches_are_named() -> None:
    assert "CMLL" in unknown_opcode("CMLX")
    assert unknown_opcode("????") == "unknown opcode ????"
