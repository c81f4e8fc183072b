"""A problem (tasks, hosts, predicted times) becomes a schedule; start at `problem`, `policies`, `decoding.decoder`.

Only `kernels`, `search` and `mapping.dual_price` load numba, only `search.genetic_search` loads DEAP.
"""
