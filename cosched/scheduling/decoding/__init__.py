"""A plan becomes a schedule: free hosts are assigned in the plan's order. Start at `decoder`."""
