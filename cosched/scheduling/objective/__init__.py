"""Judge a schedule: figures, the weighted objective, comparison. Start at `objective`."""
