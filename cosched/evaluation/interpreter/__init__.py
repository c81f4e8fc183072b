"""The interpreter turns a model's statements into steps, over lanes; a scalar is one lane.

A lane is a host count or a turn of a loop.

Start at `programs.py`, then `objects.py`. Statements of exec procedures are cases of `exec_statements.py`, those of
cflow procedures of `cflow_statements.py`; `language/__init__.py` says what else a new statement needs.
"""
