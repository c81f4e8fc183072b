"""The plan of the waiting tasks: as a problem; itself; when another takes its place; what one more would do."""
