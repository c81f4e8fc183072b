"""Discovery finds domains that could run a task: capability tables, candidates, bids."""
