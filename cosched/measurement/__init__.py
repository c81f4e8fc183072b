"""Measurement times a machine and writes its resource model. Start at `machine`."""
