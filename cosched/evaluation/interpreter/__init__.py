"""The interpreter turns a model's statements into steps, over lanes; a scalar is one lane.

A lane is a host count or a turn of a loop.

Start at `programs.py`, then `objects.py`; a new PSL statement is a case of `statements.py`.
"""
