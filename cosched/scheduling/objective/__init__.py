"""How good a schedule is: figures, the weighted objective, comparison. Start at `metrics`."""
