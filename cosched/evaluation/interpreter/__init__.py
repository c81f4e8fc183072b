"""What a model does: statements to steps, over arrays of host counts and loop turns.

Start at `programs.py`; a new PSL statement is a case of `interpreter.py`.
"""
