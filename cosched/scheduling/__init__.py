"""From a problem (tasks, hosts, predicted times) to a schedule: decoder, heuristics, genetic search, bounds, metrics.

Only `search` (and `compiled` and `operators` below it) load numba and DEAP; everything else is cheap to import.
"""
