"""Attempts at running tasks: how they are started, followed, cancelled and ended. Start at `lifecycle.py`."""
