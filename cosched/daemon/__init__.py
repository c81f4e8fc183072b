"""The daemon wires one domain together: configuration, threads, processes. Start at `main.py`."""
