"""Compute when steps happen: steps, matching of messages, clocks, deadlock, critical path, in this order."""
