"""OR-Tools' CP-SAT as the search's partner: it proves how short a makespan can be, and finds such plans.

Start at `partner` (the search's side), then `proof` (what the solver is asked) and `model`.
"""
