"""Why a task waits, until when, and what would change it, in words for people. Start at `explain.py`."""
