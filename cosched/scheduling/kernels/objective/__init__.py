"""Objectives of whole populations of plans in machine code. Start at `objective_kernel`."""
