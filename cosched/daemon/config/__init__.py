"""The daemon's configuration: its keys, bounds and defaults (sections), and where it is read from (loading)."""
