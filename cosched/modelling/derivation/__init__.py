"""Sources become application models: blocks are counted at toy sizes, and the counts solved for formulas.

Start at `derive.py`.
"""

from cosched.modelling.derivation.derive import DerivationRequest, derive
from cosched.modelling.derivation.skeleton import (
    GUESSED_COSTS,
    GUESSED_ERROR,
    OPERATION_COSTS,
    START,
    TOOL,
    Derivation,
    SolvedBlock,
)

__all__ = [
    "GUESSED_COSTS",
    "GUESSED_ERROR",
    "OPERATION_COSTS",
    "START",
    "TOOL",
    "Derivation",
    "DerivationRequest",
    "SolvedBlock",
    "derive",
]
