"""The core in virtual time, and the papers' experiments.

Start at `simulated_domain` (one domain) and `grid` (several with agents). A new experiment: see `experiments`.
"""
