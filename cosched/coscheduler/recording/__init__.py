"""A recording holds a core's state and its events; a replay repeats its decisions.

Start at `lines`.
"""
