"""Functions that numba compiles, on arrays only. Start at `problem_tables` and `decode_kernel`."""
