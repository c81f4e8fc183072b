"""Turn a model's statements into steps, over lanes of host counts and loop turns; a scalar is one lane.

Start at `programs.py`, then `objects.py`; a new PSL statement is a case of `statements.py`.
"""
