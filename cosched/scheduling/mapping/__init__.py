"""Independent tasks are mapped to one machine each: Min-Min to dual prices. Start at `etc_mapping`."""
