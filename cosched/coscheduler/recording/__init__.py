"""A recording of the core: its state, then every event; replayed, it decides the same again. Start at `lines`."""
