"""Tunable applications: their stages are tasks of a chain, with ways to choose among. Start at `stage`."""
