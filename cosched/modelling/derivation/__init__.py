"""Sources become application models: blocks are counted at toy sizes, and the counts solved for formulas.

Start at `derive.py`.
"""

from cosched.modelling.derivation.derive import Request, derive
from cosched.modelling.derivation.skeleton import TOOL, Derivation, SolvedBlock

__all__ = ["TOOL", "Derivation", "Request", "SolvedBlock", "derive"]
