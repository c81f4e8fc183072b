"""The plan of the waiting tasks: what waits, as a problem; the plan itself; who leaves now; what one more would do."""
