"""Elastic tasks change their number of hosts while they run; policies say how many each has, from event to event.

Start at `tasks` (values), `policy` (the interface) and `registry` (policies by name). Nothing here has a clock.
"""
