"""Mappings of independent tasks to machines, in machine code: their prices and their annealing."""
