"""Functions that numba compiles, on arrays only; `jit` compiles them. Start at `decoding` and `objective`."""
